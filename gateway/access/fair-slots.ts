/** Gives a slot back; calling it twice does no harm. */
export type Release = () => void;

/** Maximum time that a request waits for a slot. */
const WAIT_MS = 30_000;

interface Waiting {
  readonly client: string;
  readonly give: (release: Release | null) => void;
}

/**
 * A fixed number of slots for the requests of several clients. A client with less than an equal share waits for the
 * next slot that is given back, and no other client gets it; a client with its full share is refused while there is
 * none. So a client can have all slots as long as no other client wants one, and no longer than its requests last.
 */
export class FairSlots {
  readonly #most: number;
  /** Requests of each client that have a slot, or wait for one. */
  readonly #requests = new Map<string, number>();
  #waiting: Waiting[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @returns a function that gives the slot back; `null` if there is none, at once or after some time */
  take(client: string): Release | null | Promise<Release | null> {
    if (this.#taken < this.#most) {
      this.#count(client, 1);
      return this.#give(client);
    }
    const own = this.#requests.get(client) ?? 0;
    const clients = this.#requests.size + (own === 0 ? 1 : 0);
    if (own >= Math.max(1, Math.floor(this.#most / clients))) return null;
    this.#count(client, 1);
    return this.#wait(client);
  }

  #wait(client: string): Promise<Release | null> {
    return new Promise((resolve) => {
      const give = (release: Release | null): void => {
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        resolve(release);
      };
      const waiting = { client, give };
      const timer = setTimeout(() => {
        this.#count(client, -1);
        give(null);
      }, WAIT_MS).unref();
      this.#waiting.push(waiting);
    });
  }

  #give(client: string): Release {
    this.#taken += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken -= 1;
      this.#count(client, -1);
      const next = this.#next();
      next?.give(this.#give(next.client));
    };
  }

  /** The waiting client with the fewest requests; among equals the one that has waited longest. */
  #next(): Waiting | undefined {
    const requests = ({ client }: Waiting): number => this.#requests.get(client) ?? 0;
    return this.#waiting.toSorted((a, b) => requests(a) - requests(b))[0];
  }

  #count(client: string, change: number): void {
    const count = (this.#requests.get(client) ?? 0) + change;
    if (count > 0) this.#requests.set(client, count);
    else this.#requests.delete(client);
  }
}
