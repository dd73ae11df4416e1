import type { UpstreamPiece, UpstreamToken } from '../upstream.js';

/**
 * Takes off the beginning of a continuation what it says again of the white space that it follows, which the server
 * was not shown. What is left of a token that holds more than that is a token of which nothing is known.
 *
 * @example
 * const seam = new Seam('\n');
 * seam.push({ text: '\nThen', tokens: null, ids: null }); // 'Then'
 */
export class Seam {
  readonly #known: string;
  #left: string;

  /** @param space the end of what is there; '' where the server was shown all of it */
  constructor(space: string) {
    this.#known = space;
    this.#left = space;
  }

  push(piece: UpstreamPiece): UpstreamPiece[] {
    const { text, tokens, hidden, spelt } = piece;
    if (this.#known === '' || (text === '' && spelt !== undefined)) return [piece];
    const again = commonLength(this.#left, text);
    // Text that goes on otherwise ends it; an event without text does not.
    if (text !== '') this.#left = again === text.length ? this.#left.slice(again) : '';
    const rest = text.slice(again);
    if (hidden || spelt !== undefined) return [{ text: rest, tokens: null, ids: null, hidden: true }];
    if (rest === '') return [];
    // Ids may run ahead of their text: it is unknown which of them were removed.
    if (!tokens) return [{ text: rest, tokens: null, ids: null }];
    const own = after(tokens, again);
    const known = own.map((token) => token.text).join('');
    const cut = rest.slice(0, rest.length - known.length);
    return [
      ...(cut === '' ? [] : [{ text: cut, tokens: null, ids: null }]),
      ...(own.length === 0 ? [] : [{ text: known, tokens: own, ids: null }]),
    ];
  }
}

/** Tokens that begin at this character or after it. */
function after(tokens: readonly UpstreamToken[], from: number): UpstreamToken[] {
  let at = 0;
  return tokens.filter(({ text }) => {
    const begins = at >= from;
    at += text.length;
    return begins;
  });
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
