import { datesIn } from './dates.js';
import type { WrittenNumber } from './exact-number.js';
import { UNIT_AFTER, UNIT_BEFORE, type Unit, unitNamed } from './units.js';

/** A number that a text names. */
export interface Quantity {
  readonly value: WrittenNumber;
  /** Digits after the point, or of a power of ten below 0: the number may be rounded there. `null` for whole numbers and fractions. */
  readonly places: number | null;
  /** What it is if its point parts thousands. */
  readonly grouped: WrittenNumber | null;
  readonly unit: Unit | null;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const ONES =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const ORDINALS =
  'zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth'.split(' ');
const PARTS: Readonly<Record<string, bigint>> = { half: 2n, halves: 2n, third: 3n, quarter: 4n, fifth: 5n };
const either = (names: readonly string[]): string => [...names].sort((a, b) => b.length - a.length).join('|');
const BELOW_100 = `(?:(?:${either(TENS)})(?:[- ](?:${either(ONES.slice(1, 10))}))?|${either(ONES)})`;
const IN_WORDS = `(?:(?:${BELOW_100}|a)\\s+hundred(?:\\s+(?:and\\s+)?${BELOW_100})?|${BELOW_100})`;

const WHOLE = [
  String.raw`\d{1,3}(?:,\d{2,3})*,\d{3}(?![\d])`,
  String.raw`\d{1,3}(?:'\d{3})+(?!\d)`,
  String.raw`\d{1,3}(?: \d{3})+(?![\d])`,
  String.raw`\d{1,3}(?:\.\d{3}){2,}(?!\d)`,
  String.raw`\d+`,
].join('|');
const POWER = String.raw`(?:\s*[×x*]\s*10\s*\^\s*\{?\s*(?<power>[-+]?\d+)\s*\}?|[eE](?<e>[-+]?\d+)(?![\p{L}\d]))`;
const NUMBER = new RegExp(
  [
    String.raw`(?<![\p{L}\d.,_]|\d[ /])(?<digits>(?:(?:(?<mixed>\d+) )?(?<above>\d+)\s?\/\s?(?<below>\d+)(?![\d/])|10\s*\^\s*\{?\s*(?<ten>[-+]?\d{1,3})\s*\}?|(?:(?<whole>${WHOLE})(?:(?<point>[.,])(?<decimals>\d+)(?![\d]))?|\.(?<bare>\d+))(?:${POWER})?))(?:st|nd|rd|th)?(?<scale>\s*(?:thousand|million|billion|trillion|mio\.?|millionen|milliarden)(?![\p{L}])|[kK](?![\p{L}\d]))?`,
    String.raw`(?<![\p{L}])(?:(?<count>${BELOW_100}|a|an)[- ](?<part>halves|half|third|quarter|fifth)s?|(?<words>${IN_WORDS})(?<scale2>\s+(?:thousand|million|billion|trillion))?|(?<ordinal>${either(ORDINALS.slice(1))}))(?![\p{L}])`,
  ].join('|'),
  'giu',
);
const SCALES: readonly (readonly [RegExp, number])[] = [
  [/^(?:thousand|k)/i, 3],
  [/^mil?l?io(?!n?.*lliard)/i, 6],
  [/^(?:billion|milliarden)/i, 9],
  [/^trillion/i, 12],
];

/**
 * Numbers of a plain text, in order: 12,500 and 12 500, 3 × 10^8, 3/4, 1,5, "twelve million", 4th. A date is the number of its year.
 * @param commas whether a comma is a decimal one where it may be either
 */
export function quantitiesIn(text: string, commas = false): Quantity[] {
  const dates = datesIn(text);
  const found: Quantity[] = [];
  for (const match of text.matchAll(NUMBER)) {
    const start = match.index;
    if (start < (found.at(-1)?.end ?? 0)) continue;
    const date = dates.find((one) => start >= one.start && start < one.end);
    if (date && !(date.year !== null && match[0] === String(date.year))) continue;
    const read = readOf(match.groups ?? {}, commas);
    if (!read) continue;
    let end = start + match[0].length;
    UNIT_AFTER.lastIndex = end;
    const after = UNIT_AFTER.exec(text);
    const before = UNIT_BEFORE.exec(text.slice(Math.max(0, start - 5), start).replace(/[-+]$/, ''));
    const unit = after ? unitNamed(after[1]!) : before ? unitNamed(before[1]!) : null;
    if (after) end += after[0].length;
    const below = /^\s*(?:degrees?\s+)?below zero/i.exec(text.slice(end));
    if (below) end += below[0].length;
    const isNegative = below !== null || signed(text, start);
    found.push({
      ...read,
      value: isNegative ? { ...read.value, numerator: -read.value.numerator } : read.value,
      unit,
      text: `${isNegative ? '-' : ''}${text.slice(start, end)}`,
      start,
      end,
    });
  }
  return found;
}

/** A minus before a number, but not between two. */
function signed(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 12), start).replace(/[$€£¥]\s*$/, '');
  if (/\b(?:minus|negative)\s$/i.test(before)) return !/[\d)]\s*(?:minus)\s$/i.test(before);
  return /(?:^|[^\p{L}\d)\s-]|[^\d)\s]\s+|^\s+)-$/u.test(before) || /^\s*–$/.test(before);
}

type Read = Pick<Quantity, 'value' | 'places' | 'grouped'>;

function readOf(groups: Readonly<Record<string, string>>, commas: boolean): Read | null {
  const { mixed, above, below, whole, point, decimals, bare, count, part, words, ordinal } = groups;
  const scale = scaleOf(groups.scale ?? groups.scale2);
  if (part !== undefined)
    return fraction(count === 'a' || count === 'an' ? 1n : wordsValue(count!), PARTS[part.toLowerCase()]!);
  if (words !== undefined) return whole10(wordsValue(words), scale);
  if (ordinal !== undefined) return whole10(BigInt(ORDINALS.indexOf(ordinal.toLowerCase())), 0);
  if (above !== undefined) {
    const denominator = BigInt(below!);
    if (denominator === 0n) return null;
    return fraction(BigInt(mixed ?? 0) * denominator + BigInt(above), denominator);
  }
  if (groups.ten !== undefined) return decimal('1', '', Number(groups.ten), null);
  const power = Number(groups.power ?? groups.e ?? 0);
  if (Math.abs(power) > 400) return null;
  const digits = (whole ?? '0').replaceAll(/[,' .]/g, '');
  // 1,234 has a decimal comma only where the key has one.
  const grouping = /^(\d{1,3}),(\d{3})$/.exec(whole ?? '');
  if (grouping && commas && point === undefined)
    return decimal(grouping[1]!, grouping[2]!, scale + power, null);
  const fractional = decimals ?? bare ?? '';
  const isGrouped =
    point === '.' && fractional.length === 3 && /^\d{1,3}$/.test(whole ?? '') && whole !== '0';
  const grouped = isGrouped ? whole10(BigInt(digits + fractional), scale).value : null;
  return decimal(digits, fractional, scale + power, grouped);
}

function decimal(whole: string, places: string, power: number, grouped: WrittenNumber | null): Read {
  const value = BigInt(whole + places);
  const exponent = power - places.length;
  const form = places === '' && power === 0 ? 'integer' : 'decimal';
  return {
    value:
      exponent >= 0
        ? { numerator: value * 10n ** BigInt(exponent), denominator: 1n, form }
        : { numerator: value, denominator: 10n ** BigInt(-exponent), form },
    places: form === 'integer' ? null : -exponent,
    grouped,
  };
}

const whole10 = (value: bigint, scale: number): Read => decimal(String(value), '', scale, null);
const fraction = (numerator: bigint, denominator: bigint): Read => ({
  value: { numerator, denominator, form: 'fraction' },
  places: null,
  grouped: null,
});

const scaleOf = (name = ''): number => SCALES.find(([is]) => is.test(name.trim()))?.[1] ?? 0;

function wordsValue(text: string): bigint {
  let value = 0;
  for (const word of text.toLowerCase().split(/[\s-]+/)) {
    if (word === 'hundred') value = Math.max(1, value) * 100;
    else if (TENS.includes(word)) value += 10 * (TENS.indexOf(word) + 2);
    else if (ONES.includes(word)) value += ONES.indexOf(word);
  }
  return BigInt(value);
}
