import fc from 'fast-check';

/** Pieces of texts about steps: everything that a rule of segmentation looks at, in any order. */
const PIECES = [
  ...['The sum is 12', 'so x = 3.14', 'a', 'Then', 'no', 'e.g', 'Dr', 'J', 'No', 'Bob', '5', '1.'],
  ...['(b)', '##'],
  ...['.', '. ', '.\n', '? ', '! ', '…', '." ', '.) ', '.** ', ' ', ' ', ' ', '\n', '\n\n', ' \n \n', '\t'],
  ...['$', '$', '$5', '$x. Y$', '$$', '\\$', '\\\\', '\\(', '\\)', '\\[', '\\]', '\\begin{x}', '\\end{x}'],
  ...['{', '}', '```', '`', '\n```\n', '```js\n', '- ', '* ', '1. '],
  ...['你好', '。', '！', '」', '😀', '𝐀', 'é', '\ud83d', 'नमस्ते', '।'],
  ...['x'.repeat(450), 'word '.repeat(90), ' '.repeat(90)],
];

/** @param maxLength in pieces, of which some are hundreds of characters long */
export const prose = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...PIECES), { maxLength }).map((pieces) => pieces.join(''));

/** A text shorter than any that is cut for its length. */
export const shortProse: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...PIECES.filter((piece) => piece.length < 80)), { maxLength: 60 })
  .map((pieces) => pieces.join(''));

/** Cuts a list at the places given as shares of its length; some parts may be empty. */
export function cutAt<T>(items: readonly T[], shares: readonly number[]): T[][] {
  const cuts = shares.map((share) => Math.round(share * items.length)).sort((a, b) => a - b);
  return [...cuts, items.length].map((cut, i) => items.slice(cuts[i - 1] ?? 0, cut));
}

export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 60 });

/** A text in tokens: of whole characters, as a detokenizer gives them, some empty. */
export const tokensOf = (text: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
  fc.tuple(text, cuts).map(([whole, shares]) => cutAt([...whole], shares).map((part) => part.join('')));
