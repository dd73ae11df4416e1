import type { KvCache } from '../kv-cache.js';

/**
 * Texts are cut where a block of so many positions ends. onnxruntime's products on a CPU take rows in groups, and round a
 * group of one otherwise than the others: cut anywhere else, or to a last part of one row, a text would come to other
 * numbers in the last digits.
 */
const BLOCK = 16;
const wholeBlocks = (positions: number, block = BLOCK): number => block * Math.floor(positions / block);

/**
 * A graph that reads earlier keys where they lie adds up two products, and rounds by where the first ends. It comes to the
 * same bits if prompts are always read in the same pieces, which end at multiples of this.
 */
export const PIECE = 2 * BLOCK;

/** Fewer positions are read as fast as they are found. */
const LEAST = 2 * BLOCK;
/** Rows of a run in which any text goes on. */
export const LEAST_ROOM = 2 * BLOCK;

interface Entry {
  readonly ids: readonly number[];
  readonly cache: KvCache;
}

/**
 * Keys and values of texts that were read, for others that begin alike: the next turn of a conversation, or the same
 * instructions. Those used longest ago go first.
 *
 * A text comes to the same numbers whether or not its beginning was found here: bit for bit on a CPU, unless others were
 * in the runs that read it, which changes roundings with and without this.
 */
export class PrefixCache {
  readonly #limit: number;
  readonly #block: number;
  /** Entries by client, the most recently used last. */
  readonly #clients = new Map<string, Entry[]>();
  /** Clients by entry, in the order of use. */
  readonly #used = new Map<Entry, string>();
  #bytes = 0;

  /**
   * @param limit bytes; 0 keeps nothing
   * @param block positions: texts are cut at its multiples. {@link PIECE} for what is read in pieces
   */
  constructor(limit: number, block = BLOCK) {
    this.#limit = limit;
    this.#block = block;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * A copy of the longest beginning that is known.
   * @param client only what was kept for the same one is found: how long an answer takes tells what is known
   * @param ids what is to be read; the last two of them are left to be
   */
  find(client: string, ids: readonly number[]): KvCache | null {
    let [best, longest]: [Entry | null, number] = [null, LEAST - 1];
    for (const entry of this.#clients.get(client) ?? []) {
      const length = wholeBlocks(Math.min(commonLength(entry.ids, ids), ids.length - 2), this.#block);
      if (length > longest) [best, longest] = [entry, length];
    }
    if (!best) return null;
    this.#used.delete(best);
    this.#used.set(best, client);
    return best.cache.fork(longest);
  }

  /** @param read tokens whose keys and values stand first in the cache; a copy of them is kept */
  keep(client: string, read: readonly number[], cache: KvCache): void {
    const ids = read.slice(0, wholeBlocks(read.length, this.#block));
    if (ids.length < LEAST) return;
    const mine = this.#clients.get(client) ?? [];
    const same = mine.find((entry) => commonLength(entry.ids, ids) === ids.length);
    if (same) {
      this.#used.delete(same);
      this.#used.set(same, client);
      return;
    }
    for (const entry of mine)
      if (commonLength(entry.ids, ids) === entry.ids.length) this.#drop(entry, client);
    if (cache.bytesOf(ids.length) > this.#limit) return;
    const entry = { ids, cache: cache.fork(ids.length) };
    this.#clients.set(client, [...(this.#clients.get(client) ?? []), entry]);
    this.#used.set(entry, client);
    this.#bytes += entry.cache.bytesOf(ids.length);
    for (const [oldest, of] of this.#used) {
      if (this.#bytes <= this.#limit) break;
      this.#drop(oldest, of);
    }
  }

  #drop(entry: Entry, client: string): void {
    this.#used.delete(entry);
    this.#bytes -= entry.cache.bytesOf(entry.ids.length);
    const rest = (this.#clients.get(client) ?? []).filter((other) => other !== entry);
    if (rest.length > 0) this.#clients.set(client, rest);
    else this.#clients.delete(client);
  }
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length += 1;
  return length;
}

/**
 * How many of the next tokens of a text to read in a run: at most `room`, and all or whole blocks of them that leave more
 * than one. 0 where that cannot be.
 * @param room at least {@link LEAST_ROOM}, unless others have taken the rest of it
 */
export function portion(position: number, pending: number, room: number): number {
  if (pending <= room) return pending;
  const count = wholeBlocks(position + room) - position;
  return Math.max(0, pending - count === 1 ? count - BLOCK : count);
}

/** The same for a prompt that is read in pieces: the rest of a {@link PIECE}, or 0 if it exceeds the room. */
export function piece(position: number, pending: number, room: number): number {
  const count = Math.min(pending, PIECE - (position % PIECE));
  return count > room ? 0 : count;
}
