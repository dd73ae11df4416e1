const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
/** LaTeX that has a sign of its own. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\\(?:times|cdot)(?![a-zA-Z])/g, '×'],
  [/\\(?:approx|simeq|sim)(?![a-zA-Z])/g, '≈'],
  [/\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree(?![a-zA-Z])/g, '°'],
  [/\\(?:left|right|displaystyle|quad|qquad)(?![a-zA-Z])/g, ' '],
  [/\\[,;: ]|~(?=\S)/g, ' '],
  [/\\!|(?<=\d)\{,\}(?=\d{3})/g, ''],
  [/\\([%$&#_{}])/g, '$1'],
  [/\\[()[\]]/g, ' '],
];
const WRAPPED =
  /\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mbox|boxed|fbox|emph|operatorname)\s*\{([^{}]*)\}/g;
const FRACTION = /\\[dtc]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))/g;
const MONTH_ABBREVIATION = /\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Okt|Oct|Nov|Dec|Dez)\.(?=\s)/g;

/**
 * A text as a person reads it: without LaTeX, Markdown and HTML; with plain spaces, quotes, hyphens and minus signs (NFKC).
 * Case, accents and line breaks stay.
 */
export function plainText(text: string): string {
  let plain = text
    .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (digits) => `^${[...digits].map((one) => SUPERSCRIPTS.indexOf(one)).join('')}`)
    .replace(/⁻\^/g, '^-')
    .replace(/(?<=\d\s?)[·∙⋅](?=\s?\d)/g, '×')
    // Pandoc's rule: a dollar sign of a formula has no space within, and no digit after it.
    .replace(/(?<!\\)\$\$?(?=\S)([^$\n]*?[^\s\\$])\$\$?(?!\d)/g, '$1')
    .replace(/(\d)([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])/g, '$1 $2')
    .normalize('NFKC')
    .replace(/[‐‑⁃]/g, '-')
    .replace(/−/g, '-')
    .replace(/⁄/g, '/')
    .replace(/[’‘´ʼ]|(?<=\p{L})`(?=\p{L})/gu, "'")
    .replace(/[“”„«»]/g, '"');
  for (const [sign, written] of SIGNS) plain = plain.replace(sign, written);
  for (let before = ''; before !== plain; ) {
    before = plain;
    plain = plain.replace(FRACTION, (_, a, b, c, d) => ` ${a ?? b}/${c ?? d} `).replace(WRAPPED, '$1');
  }
  return plain
    .replace(/<\/?[a-z][a-z0-9]*\s*\/?>/gi, ' ')
    .replace(/\*\*|__|`+|^#{1,6}\s+|^>\s+/gm, '')
    .replace(/(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])/g, '')
    .replace(/(\d{1,2})\.\s+(?=\p{Lu}\p{L}{2,8}\s+\d{4})/gu, '$1 ')
    .replace(MONTH_ABBREVIATION, '$1')
    .replace(/[^\S\n]+/g, ' ');
}

/** Without case and accents; signs stay. */
export const folded = (text: string): string =>
  text
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/ø/g, 'o')
    .replace(/ł/g, 'l')
    .replace(/æ/g, 'ae')
    .replace(/œ/g, 'oe')
    .normalize('NFD')
    .replace(/\p{M}/gu, '');

/** The words of a text, folded, one space between them. */
export const words = (text: string): string =>
  folded(text)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
