/** Work of all streams together in one turn of the event loop, in bytes that are read. */
const AT_ONCE = 16 << 10;
/** Most of it for one stream: others that come in the same turn have the rest. */
const SHARE = AT_ONCE / 2;
/** A stream that has done no more than this in all is served before those that have. */
const SMALL = AT_ONCE;

interface Waiting {
  readonly isSmall: boolean;
  readonly wake: () => void;
}

/**
 * One budget for the work of all streams in a turn of the event loop, so that a turn takes as long with a hundred streams
 * as with one: new connections, and whatever else the process does, come in between.
 */
export class Turns {
  readonly #begin: (turn: () => void) => unknown;
  #left = AT_ONCE;
  #started = false;
  readonly #waiting: Waiting[] = [];

  /** @param begin calls a function in the next turn of the loop */
  constructor(begin: (turn: () => void) => unknown = setImmediate) {
    this.#begin = begin;
  }

  /** The part of one stream. */
  share(): Share {
    return new Share(this);
  }

  /** Whether there is work left for this turn. */
  get open(): boolean {
    return this.#left > 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
    this.#next();
  }

  /** Resolves in a later turn: in each, one of those that wait goes on. */
  wait(isSmall: boolean): Promise<void> {
    return new Promise((wake) => {
      this.#waiting.push({ isSmall, wake });
      this.#next();
    });
  }

  #next(): void {
    if (this.#started) return;
    this.#started = true;
    this.#begin(() => this.#turn());
  }

  #turn(): void {
    this.#started = false;
    this.#left = AT_ONCE;
    const small = this.#waiting.findIndex(({ isSmall }) => isSmall);
    const [next] = this.#waiting.splice(Math.max(0, small), 1);
    next?.wake();
    if (this.#waiting.length > 0) this.#next();
  }
}

/** What one stream has done of its part in this turn, and in all. */
export class Share {
  readonly #turns: Turns;
  #now = 0;
  #all = 0;

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** Whether it is the turn of others. */
  get over(): boolean {
    return this.#now >= SHARE || !this.#turns.open;
  }

  spend(bytes: number): void {
    this.#now += bytes;
    this.#all += bytes;
    this.#turns.spend(bytes);
  }

  async next(): Promise<void> {
    await this.#turns.wait(this.#all <= SMALL);
    this.#now = 0;
  }
}

/** Those of the loop of this process. */
export const TURNS = new Turns();
