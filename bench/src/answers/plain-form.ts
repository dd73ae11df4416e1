/** Alphabetic signs of a formula, as LaTeX. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/[−–]/g, '-'],
  [/×/g, '\\times '],
  [/·/g, '\\cdot '],
  [/π/g, '\\pi '],
  [/∞/g, '\\infty '],
  [/∪/g, '\\cup '],
  [/√(\w)/g, '\\sqrt{$1}'],
  [/≤/g, '\\le '],
  [/≥/g, '\\ge '],
];

const UNIT = '(?:[A-Za-z]{3,}|cm|mm|km|kg|mg|ml|ft|in|lb|oz|mi|hr|pm|am)';
const WORDS_AFTER_NUMBER = new RegExp(
  String.raw`^([-+]?\s*(?:[\d.,/]+|\d*\s*\\frac\s*\{\d+\}\s*\{\d+\}))\s+(?:${UNIT}[\s.]*)+(?:\^\{?\d\}?)?$`,
);
const TEXT = String.raw`\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|rm|bf)\s*`;

/**
 * An answer without what does not change what it says: delimiters of formulas, sizes of brackets, spaces, units,
 * signs of percent, degrees and dollars, text commands, braces around one character; fractions get theirs.
 *
 * @example
 * plainForm('$\\left(1{,}000\\text{ cm},\\ 90^{\\circ}\\right)$'); // '(1,000 cm, 90)'
 */
export function plainForm(answer: string): string {
  let text = answer.trim().replace(/\n/g, ' ');
  for (const [sign, latex] of SIGNS) text = text.replace(sign, latex);
  text = text
    .replace(/(?<!\\)\\[()[\]]|\\?\$/g, '')
    .replace(/(?<!\\)\\(?:[,;: ]|quad(?![a-z])|qquad(?![a-z])|displaystyle(?![a-z]))|~/g, ' ')
    .replaceAll('\\!', '')
    .replace(/\{,\}/g, ',')
    .replace(/\\(?:left|right|[bB]igg?[lr]?)(?![A-Za-z])\s*/g, '')
    .replace(/\\[dtc]frac(?![a-z])/g, '\\frac')
    .replace(/\\(le|ge|ne)q(?![a-z])/g, '\\$1')
    .replace(/\s*(?:\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree(?![a-z])|°)/g, '')
    .replace(/\\?%/g, '');
  return withoutWords(text)
    .replace(/\\frac\s*([A-Za-z\d])/g, '\\frac{$1}')
    .replace(/(\\frac\s*\{(?:[^{}]|\{[^{}]*\})*\})\s*([A-Za-z\d])/g, '$1{$2}')
    .replace(/([_^])\{(\w)\}/g, '$1$2')
    .replace(/\s+/g, ' ')
    .replace(/[\s.]+$/, '')
    .replace(/^\s*\+\s*/, '')
    .trim();
}

/** Units go, "and" and "or" are commas, other text stays without its command. */
function withoutWords(text: string): string {
  const listed = text.replace(
    new RegExp(String.raw`,?\s*(?:${TEXT}\{\s*(?:and|or),?\s*\}|\b(?:and|or)\b)\s*`, 'g'),
    ', ',
  );
  const unitless = listed.replace(
    new RegExp(String.raw`(?<=[A-Za-z\d})\]]\s*)${TEXT}\{(?:\s[^{}]*|[^{}]{2,})\}(?:\^(?:\{?\d\}?))?[\s.]*$`),
    '',
  );
  const bare = unitless.replace(new RegExp(String.raw`${TEXT}\{([^{}]*)\}`, 'g'), ' $1 ').trim();
  return WORDS_AFTER_NUMBER.exec(bare)?.[1] ?? bare;
}

/** The plain form as strings are compared: without spaces and without case. */
export const compact = (plain: string): string => plain.replace(/\s/g, '').toLowerCase();
