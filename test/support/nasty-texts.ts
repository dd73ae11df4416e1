import fc from 'fast-check';
import type { ChatMessage } from '#src/index.js';

/** Follows from the seed: nothing large is kept in the repository. */
const SEED = 15;

const repeated = (unit: string, max: number) =>
  fc.integer({ min: 1, max }).map((count) => unit.repeat(count));

const range = (min: number, max: number) =>
  fc
    .array(fc.integer({ min, max }), { minLength: 1, maxLength: 12 })
    .map((codes) => String.fromCodePoint(...codes));

/** Ranges of code points that tokenizers treat in ways of their own. */
const SCRIPTS = {
  controls: range(0x00, 0x1f),
  controls1: range(0x7f, 0x9f),
  latin1: range(0xa0, 0xff),
  marks: range(0x300, 0x36f),
  greek: range(0x370, 0x3ff),
  cyrillic: range(0x400, 0x4ff),
  hebrew: range(0x590, 0x5ff),
  arabic: range(0x600, 0x6ff),
  devanagari: range(0x900, 0x97f),
  thai: range(0xe00, 0xe7f),
  jamo: range(0x1100, 0x11ff),
  spacesAndJoiners: range(0x2000, 0x206f),
  superscripts: range(0x2070, 0x209f),
  numbers: range(0x2150, 0x218b),
  enclosed: range(0x2460, 0x24ff),
  cjkSymbols: range(0x3000, 0x303f),
  kana: range(0x3040, 0x30ff),
  han: range(0x4e00, 0x4fff),
  hangul: range(0xac00, 0xacff),
  surrogates: range(0xd800, 0xdfff),
  privateUse: range(0xe000, 0xe0ff),
  presentationForms: range(0xfb00, 0xfdff),
  variation: range(0xfe00, 0xfe0f),
  fullWidth: range(0xff00, 0xffef),
  specials: range(0xfff0, 0xffff),
  gothic: range(0x10330, 0x1034a),
  mathAlphanumeric: range(0x1d7ce, 0x1d7ff),
  emoji: range(0x1f300, 0x1f64f),
  flags: range(0x1f1e6, 0x1f1ff),
  planes: range(0x10000, 0x10ffff),
};

const DIGITS = ['0', '12', '٣٤', '५', '²', '½', 'Ⅷ', '①', '〇', '１２', '𝟙', '9999', '3.14', '1e-5', '一'];
const SPACES = [
  ...[' ', '  ', '\t', '\n', '\r\n', '\n\n', '\v'],
  ...['\u00a0', '\u3000', '\u200b', '\u2028', '\u0085', '\ufeff'],
];
const SPECIALS = [
  ...['<|im_start|>', '<|im_end|>', '<|endoftext|>', '<|im_', '<|im_end|'],
  ...['<repo_name>', '<file_sep>', '</s>'],
];
const WORDS = [
  ...['hello', "don't", "I'LL", "'s", "''re", '__proto__', 'constructor'],
  ...['Straße', 'naïve', 'Ġ', '▁', 'İstanbul'],
];
const CODE = [
  'def f(x):\n    return x**2\n',
  'if (a && b) {\n\t++i;\n}',
  '<div class="a">&amp;</div>',
  '\\frac{1}{2}',
  '$x_{i}^2$',
];
const EMOJI = [
  ...['👩‍👩‍👧', '👍🏽', '🇪🇺', '❤️', 'e\u0301', 'é', 'क्षि'],
  ...['한', '각', '\0', '\ud83d', '\ude00', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
];

const part = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...WORDS, ...SPACES) },
  { weight: 2, arbitrary: fc.constantFrom(...DIGITS) },
  { weight: 2, arbitrary: fc.constantFrom(...EMOJI) },
  fc.constantFrom(...CODE),
  fc.constantFrom(...SPECIALS),
  { weight: 4, arbitrary: fc.oneof(...Object.values(SCRIPTS)) },
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.oneof(repeated(' ', 40), repeated('\n', 10), repeated('a', 200), repeated('=', 80), repeated('7', 30)),
);

const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));

/** Texts that tokenizers got wrong before, or might; the same in every run. */
export const nastyTexts = (count: number): string[] => fc.sample(text, { numRuns: count, seed: SEED });

/** Conversations of a system message or none, and turns; without names of special tokens. */
export function conversations(count: number): ChatMessage[][] {
  const content = text.filter((written) => !SPECIALS.some((name) => written.includes(name)));
  const turns = fc.array(fc.tuple(content, content), { maxLength: 3 });
  const whole = fc.tuple(fc.option(content), turns, content).map(([system, earlier, last]): ChatMessage[] => [
    ...(system === null ? [] : [{ role: 'system', content: system } as const]),
    ...earlier.flatMap(
      ([user, assistant]) =>
        [
          { role: 'user', content: user },
          { role: 'assistant', content: assistant },
        ] as const,
    ),
    { role: 'user', content: last },
  ]);
  return fc.sample(whole, { numRuns: count, seed: SEED });
}

/** Lists of any ids: most are not the encoding of a text, and cut characters. */
export const anyIds = (count: number, vocabulary: number): number[][] =>
  fc.sample(fc.array(fc.nat(vocabulary - 1), { maxLength: 40 }), { numRuns: count, seed: SEED });
