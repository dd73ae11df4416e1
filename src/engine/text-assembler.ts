import type { Detokenizer } from '../tokenizer/detokenizer.js';

interface Assembled<T> {
  readonly token: T;
  readonly text: string;
}

/**
 * Turns a stream of token ids into tokens with text, and ends it at a stop string.
 *
 * A token is held while its text may still change: while a character lacks bytes that later tokens bring (the last
 * of them gets the character), and while the text may be the beginning of a stop string. What belongs to a stop
 * string is dropped; of a token that only ends in one, the text before it stays.
 */
export class TextAssembler<T extends { readonly id: number }> {
  readonly #detokenizer: Detokenizer;
  readonly #stops: readonly string[];
  #held: Assembled<T>[] = [];

  constructor(detokenizer: Detokenizer, stops: readonly string[]) {
    this.#detokenizer = detokenizer;
    this.#stops = stops;
  }

  /** @returns the tokens that are settled, and whether a stop string ended the text */
  push(token: T): { readonly tokens: Assembled<T>[]; readonly stopped: boolean } {
    this.#held.push({ token, text: this.#detokenizer.push(token.id) });
    const text = this.#held.map((held) => held.text).join('');
    const { found, safe } = findStop(text, this.#stops);
    if (found !== null) return { tokens: this.#cut(found), stopped: true };
    // The last token with text may have begun the character that still lacks bytes; those before it have not.
    const whole = this.#detokenizer.pending
      ? Math.max(
          0,
          this.#held.findLastIndex((held) => held.text !== ''),
        )
      : this.#held.length;
    return { tokens: this.#settle(safe, whole), stopped: false };
  }

  /** The text has ended without a stop string: releases what is held. */
  end(): Assembled<T>[] {
    const rest = this.#detokenizer.flush();
    const last = this.#held.at(-1);
    if (last) this.#held[this.#held.length - 1] = { ...last, text: last.text + rest };
    return this.#held.splice(0);
  }

  /** Releases tokens that end within the first `safe` characters, at most `most` of them. */
  #settle(safe: number, most: number): Assembled<T>[] {
    let end = 0;
    let count = 0;
    for (const { text } of this.#held) {
      end += text.length;
      if (end > safe || count === most) break;
      count += 1;
    }
    return this.#held.splice(0, count);
  }

  #cut(found: number): Assembled<T>[] {
    let start = 0;
    return this.#held.splice(0).flatMap(({ token, text }) => {
      const kept = text.slice(0, Math.max(0, found - start));
      const before = start < found;
      start += text.length;
      return before ? [{ token, text: kept }] : [];
    });
  }
}

/**
 * Finds the start of the stop string that ends a growing text: the one that is complete first, as if the text
 * came character by character, so that the split into tokens makes no difference; of several that end
 * together the longest.
 * @returns `found`: the index, or `null`; `safe`: how many characters from the start can no longer become part of one
 */
export function findStop(text: string, stops: readonly string[]): { found: number | null; safe: number } {
  const [first] = stops
    .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }))
    .filter(({ start }) => start >= 0)
    .sort((a, b) => a.end - b.end || a.start - b.start);
  if (first) return { found: first.start, safe: first.start };
  const longest = Math.max(0, ...stops.map((stop) => stop.length - 1));
  for (let start = Math.max(0, text.length - longest); start < text.length; start++) {
    const tail = text.slice(start);
    if (stops.some((stop) => stop.startsWith(tail))) return { found: null, safe: start };
  }
  return { found: null, safe: text.length };
}
