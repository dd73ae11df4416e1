import { z } from 'zod';
import { sameNormalForm } from './normal-form.js';
import { hundredfold, parseNumber, sameNumber, type WrittenNumber } from './number.js';
import { compact, plainForm } from './plain-form.js';
import { sameEquation, sameValue } from './same-value.js';
import { parseStructure, type Structure, splitTop } from './structure.js';

/** Comparisons of two answers, in order; those after `text` use its normalised form. */
export const EQUIVALENCE_STAGES = [
  'normal_form',
  'text',
  'numbers',
  'structures',
  'equations',
  'values',
] as const;

/** Settings that no source prescribes; a run records them. */
export const equivalenceSchema = z.strictObject({
  stages: z.array(z.enum(EQUIVALENCE_STAGES)).default([...EQUIVALENCE_STAGES]),
  /** Relative, between a decimal and another number. */
  tolerance: z.number().min(0).max(0.1).default(1e-4),
  /** Takes 0.5, 50 and 50 % for the same, as the grader of Qwen2.5-Math does. */
  hundredfold: z.boolean().default(false),
  /** Fractions must be written alike and whole numbers as such, as the grader of PRM800K wants it. */
  reduced: z.boolean().default(false),
});
export type Equivalence = z.output<typeof equivalenceSchema>;
export const DEFAULT_EQUIVALENCE: Equivalence = equivalenceSchema.parse({});

/** No answer has more parts, or is longer; what is, is compared as a string. */
const MAX_ITEMS = 32;
const MAX_LENGTH = 2000;

/**
 * Whether an answer says the same as the reference: strings in the normal form of MATH first, and then, where the
 * settings have more stages, numbers, the parts of tuples, intervals, sets and matrices, equations, and the values of
 * expressions at random points. Never throws; the time is bounded by the lengths.
 */
export function sameAnswer(
  answer: string,
  reference: string,
  settings: Equivalence = DEFAULT_EQUIVALENCE,
): boolean {
  const has = (stage: Equivalence['stages'][number]): boolean => settings.stages.includes(stage);
  if (answer === reference) return true;
  if (answer.length > MAX_LENGTH || reference.length > MAX_LENGTH) return false;
  if (has('normal_form') && sameNormalForm(answer, reference)) return true;
  return has('text') && samePlain(plainForm(answer), plainForm(reference), settings);
}

function samePlain(a: string, b: string, settings: Equivalence): boolean {
  if (a === '' || b === '') return a === b;
  if (compact(a) === compact(b)) return true;
  const [numberA, numberB] = [parseNumber(a), parseNumber(b)];
  if (numberA && numberB)
    return settings.stages.includes('numbers') && sameNumbers(numberA, numberB, settings);
  if (settings.reduced && numberB?.form === 'integer') return false;
  const equations = settings.stages.includes('equations');
  const [partsA, partsB] = [splitTop(a, '='), splitTop(b, '=')];
  if (equations && partsA.length > 1 !== partsB.length > 1) {
    const [valueA, valueB] = [named(partsA) ?? a, named(partsB) ?? b];
    if (valueA !== a || valueB !== b) return samePlain(valueA, valueB, settings);
  }
  if (settings.stages.includes('structures')) {
    const [left, right] = [structureOf(a), structureOf(b)];
    if (left.kind !== 'single' || right.kind !== 'single') return sameStructure(left, right, settings);
  }
  const [equationA, equationB] = [sides(partsA), sides(partsB)];
  if (equationA && equationB) return equations && sameEquation(equationA, equationB);
  return settings.stages.includes('values') && sameValue(a, b);
}

function sameNumbers(a: WrittenNumber, b: WrittenNumber, settings: Equivalence): boolean {
  if (settings.reduced) {
    if (a.form === 'fraction' && b.form === 'fraction') {
      return a.numerator === b.numerator && a.denominator === b.denominator;
    }
    if ((a.form === 'integer') !== (b.form === 'integer')) return false;
  }
  const pairs = settings.hundredfold ? [a, hundredfold(a)].map((n) => [n, b] as const) : [[a, b] as const];
  if (settings.hundredfold) pairs.push([a, hundredfold(b)]);
  return pairs.some(([x, y]) => sameNumber(x, y, settings.tolerance));
}

/** A set that is given by a name, as in `x \in [1, 2]`, is the set; `1 \pm 2` is two answers. */
function structureOf(text: string): Structure {
  const structure = parseStructure(text.replace(/^[A-Za-z]\s*\\in(?![a-z])\s*/, ''));
  if (structure.kind !== 'single' || !structure.text.includes('\\pm')) return structure;
  const signs = (plus: string, minus: string): string =>
    structure.text
      .replaceAll(/\\pm(?![a-z])/g, plus)
      .replaceAll(/\\mp(?![a-z])/g, minus)
      .replace(/^\s*\+\s*/, '');
  return { kind: 'list', items: [signs('+', '-'), signs('-', '+')] };
}

function sameStructure(a: Structure, b: Structure, settings: Equivalence): boolean {
  const same = (x: string, y: string): boolean => samePlain(x, y, settings);
  const inOrder = (x: readonly string[], y: readonly string[]): boolean =>
    x.length === y.length && x.length <= MAX_ITEMS && x.every((item, i) => same(item, y[i] ?? ''));
  if (a.kind === 'tuple' && b.kind === 'tuple') {
    return a.open === b.open && a.close === b.close && inOrder(a.items, b.items);
  }
  if (a.kind === 'matrix' && b.kind === 'matrix') {
    const rows = a.rows.length === b.rows.length && a.rows.length <= MAX_ITEMS;
    return rows && a.determinant === b.determinant && a.rows.every((row, i) => inOrder(row, b.rows[i] ?? []));
  }
  if (a.kind === 'union' && b.kind === 'union') return inAnyOrder(a.items, b.items, same);
  const [itemsA, itemsB] = [listed(a), listed(b)];
  return itemsA !== null && itemsB !== null && inAnyOrder(itemsA, itemsB, same);
}

/** The items of a list; a single answer is a list of one. */
function listed(structure: Structure): readonly string[] | null {
  if (structure.kind === 'list') return structure.items.flatMap(expandSigns);
  return structure.kind === 'single' ? [structure.text] : null;
}

function expandSigns(item: string): readonly string[] {
  const structure = structureOf(item);
  return structure.kind === 'list' && item.includes('\\pm') ? structure.items : [item];
}

function inAnyOrder(
  a: readonly string[],
  b: readonly string[],
  same: (x: string, y: string) => boolean,
): boolean {
  if (a.length !== b.length || a.length > MAX_ITEMS) return false;
  const left = [...b];
  return a.every((item) => {
    const at = left.findIndex((other) => same(item, other));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/** Both sides of a single equation; `null` for a chain, or for no equation. */
function sides([left, right, ...more]: readonly string[]): readonly [string, string] | null {
  return left && right && more.length === 0 ? [left, right] : null;
}

/** A name, with an index or arguments, or several in brackets. */
const NAME = /^(?:\\?[A-Za-z]{1,7}(?:_\{?\w+\}?)?'?(?:\([A-Za-z, ]+\))?|\([A-Za-z](?:, ?[A-Za-z])+\))$/;
/** Letter of a name, not of a command such as \frac or \pi. */
const LETTER = /(?<!\\[A-Za-z]*)[A-Za-z]/;

/** Value of an equation with names: `x = 5`, `f(x) = 5` and `x = 10/2 = 5` are 5, and so is `10/2 = 5`. */
function named(parts: readonly string[]): string | null {
  const [first = '', last = ''] = [parts.at(0), parts.at(-1)];
  if (parts.slice(1, -1).some((part) => part.includes(','))) return null; // x = 1, y = 2
  return parts.length > 1 && last !== '' && (NAME.test(first) || !LETTER.test(first)) ? last : null;
}
