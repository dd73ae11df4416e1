import { parseNumber, sameNumber } from 'flinch/internals';
import { sameNormalForm } from './normal-form.js';
import { compact, plainForm } from './plain-form.js';
import { sameEquation, sameValue } from './same-value.js';
import { parseStructure, type Structure, splitTop } from './structure.js';

/** Relative, between a decimal and another number. */
const TOLERANCE = 1e-4;

/** No answer has more parts, or is longer; what is, is compared as a string. */
const MAX_ITEMS = 32;
const MAX_LENGTH = 2000;

/**
 * Whether an answer says the same as the reference: strings in the normal form of MATH first, and then numbers, the
 * parts of tuples, intervals, sets and matrices, equations, and the values of expressions at random points. Never
 * throws; the time is bounded by the lengths.
 */
export function sameAnswer(answer: string, reference: string): boolean {
  if (answer === reference) return true;
  if (answer.length > MAX_LENGTH || reference.length > MAX_LENGTH) return false;
  return sameNormalForm(answer, reference) || samePlain(plainForm(answer), plainForm(reference));
}

function samePlain(a: string, b: string): boolean {
  if (a === '' || b === '') return a === b;
  if (compact(a) === compact(b)) return true;
  const [numberA, numberB] = [parseNumber(a), parseNumber(b)];
  if (numberA && numberB) return sameNumber(numberA, numberB, TOLERANCE);
  const [partsA, partsB] = [splitTop(a, '='), splitTop(b, '=')];
  if (partsA.length > 1 !== partsB.length > 1) {
    const [valueA, valueB] = [named(partsA) ?? a, named(partsB) ?? b];
    if (valueA !== a || valueB !== b) return samePlain(valueA, valueB);
  }
  const [left, right] = [structureOf(a), structureOf(b)];
  if (left.kind !== 'single' || right.kind !== 'single') return sameStructure(left, right);
  const [equationA, equationB] = [sides(partsA), sides(partsB)];
  return equationA && equationB ? sameEquation(equationA, equationB) : sameValue(a, b);
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

function sameStructure(a: Structure, b: Structure): boolean {
  const inOrder = (x: readonly string[], y: readonly string[]): boolean =>
    x.length === y.length && x.length <= MAX_ITEMS && x.every((item, i) => samePlain(item, y[i] ?? ''));
  if (a.kind === 'tuple' && b.kind === 'tuple') {
    return a.open === b.open && a.close === b.close && inOrder(a.items, b.items);
  }
  if (a.kind === 'matrix' && b.kind === 'matrix') {
    const rows = a.rows.length === b.rows.length && a.rows.length <= MAX_ITEMS;
    return rows && a.determinant === b.determinant && a.rows.every((row, i) => inOrder(row, b.rows[i] ?? []));
  }
  if (a.kind === 'union' && b.kind === 'union') return inAnyOrder(a.items, b.items);
  const [itemsA, itemsB] = [listed(a), listed(b)];
  return itemsA !== null && itemsB !== null && inAnyOrder(itemsA, itemsB);
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

function inAnyOrder(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length || a.length > MAX_ITEMS) return false;
  const left = [...b];
  return a.every((item) => {
    const at = left.findIndex((other) => samePlain(item, other));
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
