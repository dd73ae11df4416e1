import type { ServerStatus } from './score-servers.js';
import { LostSequence, ServerFault } from './server-fault.js';

/** Faults in a row after which an address is not asked any more. */
const MAX_FAULTS = 3;
/** Time until it is checked again; it doubles with each check that fails, up to the most. */
const CHECK_MS = 5000;
const MAX_CHECK_MS = 60_000;

interface PoolOptions<Address> {
  /** Whether an address can be used again. */
  readonly check: (address: Address) => Promise<void>;
  /** Called when an address is not used any more. */
  readonly lost?: (address: Address, fault: ServerFault) => void;
}

interface Entry<Address> {
  readonly address: Address;
  busy: number;
  /** Number of sequences that stay there. */
  sequences: number;
  runs: number;
  failures: number;
  milliseconds: number;
  lostSequences: number;
  /** Number of faults in a row. */
  faults: number;
  /** Its circuit is open: it is asked nothing until a check succeeds. */
  open: boolean;
}

/**
 * Several addresses of the same models, with a circuit breaker each. A request without a state at the server goes to
 * the one that has the fewest, and once more elsewhere if that fails. A sequence stays where it is.
 */
export class AddressPool<Address> {
  readonly #entries: readonly Entry<Address>[];
  readonly #options: PoolOptions<Address>;

  /** @param broken addresses that are not to be used before a check succeeds */
  constructor(
    addresses: readonly Address[],
    options: PoolOptions<Address>,
    broken: ReadonlySet<Address> = new Set(),
  ) {
    this.#options = options;
    const none = { busy: 0, sequences: 0, runs: 0, failures: 0, milliseconds: 0, lostSequences: 0 };
    this.#entries = addresses.map((address) => ({ address, ...none, faults: 0, open: false }));
    for (const entry of this.#entries) if (broken.has(entry.address)) this.#open(entry);
  }

  /** @throws ServerFault of the second address that failed, or at once where none can be used */
  async use<Result>(work: (address: Address) => Promise<Result>): Promise<Result> {
    const first = this.#take();
    try {
      return await this.#ask(first, work);
    } catch (error) {
      const second = this.#choose(first);
      if (!(error instanceof ServerFault) || !second) throw error;
      return this.#ask(second, work);
    }
  }

  /**
   * An address for a new sequence, which stays there.
   * @param avoid is only taken if there is no other
   * @throws ServerFault if none can be used
   */
  take(avoid?: Address): Address {
    const entry = this.#take(avoid === undefined ? undefined : this.#of(avoid));
    entry.sequences += 1;
    return entry.address;
  }

  /** @param lost whether the server failed the sequence, or did not hold it any more */
  leave(address: Address, lost: boolean): void {
    const entry = this.#of(address);
    entry.sequences -= 1;
    if (lost) entry.lostSequences += 1;
  }

  /** Status of each address, in order. */
  status(): Omit<ServerStatus, 'address'>[] {
    return this.#entries.map(({ open, runs, failures, milliseconds, sequences, lostSequences }) => ({
      up: !open,
      runs,
      failures,
      seconds: milliseconds / 1000,
      sequences,
      lostSequences,
    }));
  }

  /** Work for a sequence that is at an address. @throws ServerFault */
  async at<Result>(address: Address, work: (address: Address) => Promise<Result>): Promise<Result> {
    const entry = this.#of(address);
    if (entry.open) throw new ServerFault('the inference server of a sequence cannot be reached');
    return this.#ask(entry, work);
  }

  #of(address: Address): Entry<Address> {
    return this.#entries.find((entry) => entry.address === address)!;
  }

  /** @throws ServerFault if none can be used */
  #take(last?: Entry<Address>): Entry<Address> {
    const entry = this.#choose(last);
    if (!entry) throw new ServerFault('no inference server can be reached');
    return entry;
  }

  /** @param last address that is only taken if there is no other */
  #choose(last?: Entry<Address>): Entry<Address> | undefined {
    const rank = (entry: Entry<Address>): number =>
      entry === last ? Number.POSITIVE_INFINITY : entry.busy + entry.sequences;
    return this.#entries.filter(({ open }) => !open).toSorted((a, b) => rank(a) - rank(b))[0];
  }

  async #ask<Result>(entry: Entry<Address>, work: (address: Address) => Promise<Result>): Promise<Result> {
    entry.busy += 1;
    entry.runs += 1;
    const start = performance.now();
    try {
      const result = await work(entry.address);
      entry.faults = 0;
      return result;
    } catch (error) {
      entry.failures += 1;
      // A lost sequence does not tell whether the server works.
      if (error instanceof ServerFault && !(error instanceof LostSequence)) this.#failed(entry, error);
      throw error;
    } finally {
      entry.milliseconds += performance.now() - start;
      entry.busy -= 1;
    }
  }

  #failed(entry: Entry<Address>, fault: ServerFault): void {
    entry.faults += 1;
    if (entry.open || entry.faults < MAX_FAULTS) return;
    this.#options.lost?.(entry.address, fault);
    this.#open(entry);
  }

  #open(entry: Entry<Address>, delay = CHECK_MS): void {
    entry.open = true;
    setTimeout(async () => {
      try {
        await this.#options.check(entry.address);
        Object.assign(entry, { open: false, faults: 0 });
      } catch {
        this.#open(entry, Math.min(2 * delay, MAX_CHECK_MS));
      }
    }, delay).unref();
  }
}
