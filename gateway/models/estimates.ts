import { RunningRisk } from '../../src/risk/running-risk.js';

/** Maximum estimates of one model. Each takes up to some hundred kilobytes after thousands of tokens. */
const MOST = 256;

/**
 * Running estimates of ordinary scores, one for each client and its settings: a client that writes garbage moves
 * no flags but its own. If there are too many, the client that has most of them loses the one that it has not used
 * for longest; so a client with random settings costs no other client an estimate.
 */
export class Estimates {
  /** Estimates by client, then by settings; the least recently used first. */
  readonly #clients = new Map<string, Map<string, RunningRisk>>();
  #count = 0;

  of(client: string, settings: string): RunningRisk {
    const own = this.#clients.get(client) ?? new Map<string, RunningRisk>();
    const known = own.get(settings);
    const estimate = known ?? new RunningRisk();
    own.delete(settings);
    own.set(settings, estimate);
    this.#clients.delete(client);
    this.#clients.set(client, own);
    if (!known) this.#added();
    return estimate;
  }

  #added(): void {
    this.#count += 1;
    if (this.#count <= MOST) return;
    const [client, own] = [...this.#clients].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    const [oldest = ''] = own.keys();
    own.delete(oldest);
    if (own.size === 0) this.#clients.delete(client);
    this.#count -= 1;
  }
}
