import { Refused, TypeFault } from './faults.js';
import { Dict, itemsOf, iterate, Safe, Struct, typeName, Undefined, type Value, View } from './values.js';

/** A number, also a bool, which is one to Python. */
export function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'bigint' || typeof value === 'number' ? value : undefined;
}

export const textOf = (value: Value): string | undefined =>
  value instanceof Safe ? value.text : typeof value === 'string' ? value : undefined;

/** Python's `==`. */
export function equals(a: Value, b: Value): boolean {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x <= y && x >= y; // exact between int and float
  const text = textOf(a);
  if (text !== undefined) return text === textOf(b);
  if (a instanceof Undefined) return b instanceof Undefined;
  const [items, others] = [itemsOf(a), itemsOf(b)];
  if (items && others) return typeName(a) === typeName(b) && sameItems(items, others);
  if (a instanceof Dict && b instanceof Dict) {
    return a.size === b.size && a.entries.every(([key, value]) => isSame(value, b.get(key)));
  }
  if (a instanceof View && b instanceof View && a !== b) throw new Refused('comparing views of dicts');
  return a === b;
}

/** Items of lists are also the same if they are the same object. */
const isSame = (a: Value, b: Value | undefined): boolean =>
  b !== undefined && (Object.is(a, b) || equals(a, b));

const sameItems = (a: readonly Value[], b: readonly Value[]): boolean =>
  a.length === b.length && a.every((item, i) => isSame(item, b[i]));

/** Python's `in`. */
export function contains(container: Value, item: Value): boolean {
  const text = textOf(container);
  if (text !== undefined) {
    const part = textOf(item);
    if (part === undefined) {
      throw new TypeFault(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    }
    return text.includes(part);
  }
  if (container instanceof Dict) return container.get(item) !== undefined;
  if (container instanceof View && container.kind === 'keys') return container.dict.get(item) !== undefined;
  if (container instanceof Struct)
    throw new TypeFault(`argument of type '${container.kind}' is not iterable`);
  for (const each of iterate(container)) if (isSame(each, item)) return true;
  return false;
}

/** Negative if `a` comes before `b`, NaN if neither is before, after or equal to the other. */
export function compare(a: Value, b: Value, operator = '<'): number {
  for (const value of [a, b]) if (value instanceof Undefined) value.fail();
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x < y ? -1 : x > y ? 1 : x >= y ? 0 : Number.NaN;
  const [text, other] = [textOf(a), textOf(b)];
  if (text !== undefined && other !== undefined) return compareTexts(text, other);
  if (itemsOf(a) && itemsOf(b)) throw new Refused('the order of lists');
  throw new TypeFault(
    `'${operator}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`,
  );
}

/** By code points. UTF-16 units have another order where surrogates meet U+E000 to U+FFFF. */
function compareTexts(a: string, b: string): number {
  if (/[\ue000-\uffff]/.test(a + b)) throw new Refused('the order of such characters');
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sorted like Python's `sorted`: stable, also backwards. */
export function sorted(
  values: Iterable<Value>,
  keyOf: (value: Value) => Value,
  isReversed: boolean,
): Value[] {
  const keyed = [...values].map((value) => ({ value, key: keyOf(value) }));
  const direction = isReversed ? -1 : 1;
  return keyed.sort((a, b) => direction * (compare(a.key, b.key) || 0)).map(({ value }) => value);
}
