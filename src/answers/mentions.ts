import { isDenied } from './denial.js';
import { folded } from './plain-text.js';

/** Scripts that do not part words. */
const UNPARTED =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const BEGINS_UNPARTED = new RegExp(`^[${UNPARTED}]`, 'u');
const ENDS_UNPARTED = new RegExp(`[${UNPARTED}]$`, 'u');
/** Before a name they make another one of it. */
const OTHER =
  /(?<!\p{L})(?:new|north|south|east|west|northern|southern|eastern|western|saint|st\.?|papua|equatorial)[ -]$/u;

/** ü is also written ue, and Saint St. */
const spelled = (name: string): readonly string[] => {
  const plain = folded(name);
  const german = folded(name.toLowerCase().replace(/ä/g, 'ae').replace(/ö/g, 'oe').replace(/ü/g, 'ue'));
  return [plain, german, plain.replace(/^saint(?!\p{L})/u, 'st'), plain.replace(/^st(?!\p{L})/u, 'saint')];
};

function patternOf(name: string, text: string): { readonly pattern: RegExp; readonly within: string } {
  const isSymbol = /^\p{L}{1,2}$/u.test(name);
  const source = [...new Set(isSymbol ? [name] : spelled(name))]
    .map((one) => {
      const parts = one.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '');
      return parts.length === 0
        ? one.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
        : parts.join('[^\\p{L}\\p{N}]{0,3}');
    })
    .join('|');
  const before = BEGINS_UNPARTED.test(name) ? '' : '(?<![\\p{L}\\p{N}])';
  const after = ENDS_UNPARTED.test(name)
    ? ''
    : isSymbol
      ? '(?![\\p{L}\\p{N}])'
      : '(?:e?s)?(?![\\p{L}\\p{N}])';
  return {
    pattern: new RegExp(`${before}(?:${source})${after}`, 'gu'),
    within: isSymbol ? text : folded(text),
  };
}

export interface Mention {
  readonly start: number;
  readonly end: number;
  /** "not Zürich". */
  readonly denied: boolean;
}

/** Where a plain text names something, as whole words in whatever case; of one or two letters, as they are written. */
export function mentionsOf(name: string, text: string): Mention[] {
  const { pattern, within } = patternOf(name, text);
  return [...within.matchAll(pattern)]
    .filter(({ index }) => !OTHER.test(folded(within.slice(0, index))) || OTHER.test(folded(name)))
    .map(({ index, 0: found }) => {
      const [start, end] = [index, index + found.length];
      return { start, end, denied: isDenied(within, start, end) };
    });
}

/** Whether it is named, and not denied. */
export const affirms = (name: string, text: string): boolean =>
  mentionsOf(name, text).some(({ denied }) => !denied);
