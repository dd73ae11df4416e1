import { expressionValue } from '#bench/answers/expression-value.js';
import { parseLatex } from '#bench/answers/latex.js';

export interface Equation {
  readonly text: string;
  readonly holds: boolean;
}

/**
 * The equations of numbers that a text states, such as `3 boxes * 4 pens = $12`, each with whether it holds. Units are
 * dropped; each sign of a chain `a = b = c` is an equation. Not found: equations with names (`x + 3 = 5`), without an
 * operator (`12 = 12`), and parts of larger expressions.
 */
export function equationsIn(text: string): Equation[] {
  return text.split('\n').flatMap((line) =>
    [...withoutMarkup(line).matchAll(CHAIN)].flatMap(([chain]) => {
      const sides = chain.split('=').map(readSide);
      return sides.slice(1).flatMap((right, i): Equation[] => {
        const left = sides[i]!;
        if (!OPERATION.test(left) && !OPERATION.test(right)) return [];
        const holds = areEqual(left, right);
        return holds === null ? [] : [{ text: `${left} = ${right}`, holds }];
      });
    }),
  );
}

/** Words that make a number part of a product or of a larger number; no units. */
const ARITHMETIC = '(?:of|by|times|plus|minus|half|double|dozen|hundred|thousand|million|percent|over)';
/** Unit of at most three words: `3 pens per box * 4`. */
const UNIT = String.raw`(?: (?!${ARITHMETIC}\b)[a-z][a-z'-]+){0,3}`;
const NUMBER = String.raw`[$€£]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\d^]|[.,]\d)%?(?![%a-z])`;
const OPERAND = String.raw`-?\(*${NUMBER}${UNIT}\)*`;
const SIDE = `${OPERAND}(?:[-+*/]${OPERAND})*`;
/** Chain of equations, not within another expression, or behind one of the words. */
const CHAIN = new RegExp(
  String.raw`(?<![\w.,$^()+*/-]|\b${ARITHMETIC} )${SIDE}(?:=${SIDE})+(?!${UNIT}[-+*/^=(]|${UNIT} (?!by\b)${ARITHMETIC}\b)`,
  'gi',
);
const OPERATION = /[\d)%][-+*/]/;

const MARKUP: readonly (readonly [RegExp, string])[] = [
  [/^\s*(?:[-*•]|\d+[.):])\s+/, ''],
  [/\*\*|`|\\[()[\]]|\\\\/g, ' '],
  [/\\\$/g, '$'],
  [/\\times\b|\\cdot\b|[×·]|(?<=[\d)%]|[a-z]{2})\s+x(?=\s+[$€£(\d])|(?<=\d)\s?x\s?(?=\d)/gi, ' * '],
  [/\\div\b|÷/g, ' / '],
  [/[−–]/g, '-'],
  // Spaces only between words and numbers.
  [/\s+/g, ' '],
  [/ ?([-+*/=()]) ?/g, '$1'],
  [/(?<=[$€£]) | (?=%)/g, ''],
];

const withoutMarkup = (line: string): string =>
  MARKUP.reduce((text, [pattern, by]) => text.replace(pattern, by), line);

/** Numbers, operators and brackets alone, without a bracket around more than this side. */
function readSide(side: string): string {
  const plain = side.replace(/ [a-z][a-z'-]+/gi, '').replace(/[$€£,]/g, '');
  const open = plain.split('(').length - plain.split(')').length;
  return open > 0
    ? plain.replace(new RegExp(`^\\({1,${open}}`), '')
    : plain.replace(/\)+$/, (all) => all.slice(Math.min(all.length, -open)));
}

/**
 * Equal, or as near as the decimals of a result go: 10 / 3 = 3.33, also cut off, as 20 / 3 = 6.66. A percentage is a number
 * (1 / 4 * 100 = 25%) or a part (20% * 50 = 10). `null` where a side has no value.
 */
function areEqual(left: string, right: string): boolean | null {
  const places = Math.max(decimals(left), decimals(right));
  const tolerance = places === 0 ? 1e-9 : 10 ** -places * (1 + 1e-6);
  const differences = ['', ' / 100'].map((percent) => numberOf(left, percent) - numberOf(right, percent));
  if (differences.some(Number.isNaN)) return null;
  return differences.some((difference) => Math.abs(difference) <= tolerance);
}

/** Only a side that is one number is a result that may be rounded. */
const decimals = (side: string): number => /^-?\d+\.(\d+)%?$/.exec(side)?.[1]?.length ?? 0;

/** NaN where there is none. */
function numberOf(side: string, percent: string): number {
  const tree = parseLatex(side.replace(/([\d.]+)%/g, `($1${percent})`).replace(/\*/g, '\\times '));
  const [re, im] = tree === null ? [Number.NaN, 0] : expressionValue(tree, new Map());
  return Number.isFinite(re) && im === 0 ? re : Number.NaN;
}
