import { compare, contains, equals, numberOf, textOf } from './compare.js';
import { Refused } from './faults.js';
import { binary } from './jinja-numbers.js';
import { Signature } from './signature.js';
import { type Arguments, Dict, itemsOf, Lazy, Struct, Undefined, type Value, View } from './values.js';

const remains = (value: Value, by: Value, rest: Value): boolean => equals(binary('%', value, by), rest);

const hasItems = (value: Value): boolean =>
  textOf(value) !== undefined ||
  itemsOf(value) !== undefined ||
  value instanceof Dict ||
  value instanceof Undefined;

const isLoop = (value: Value): boolean => value instanceof Struct && value.kind === 'loop';

type Comparison = (value: Value, other: Value) => boolean;
const differs: Comparison = (value, other) => !equals(value, other);
const less: Comparison = (value, other) => compare(value, other, '<') < 0;
const lessOrEqual: Comparison = (value, other) => compare(value, other, '<=') <= 0;
const greater: Comparison = (value, other) => compare(value, other, '>') > 0;
const greaterOrEqual: Comparison = (value, other) => compare(value, other, '>=') >= 0;

export const COMPARISONS: Readonly<Record<string, Comparison>> = {
  '==': equals,
  '!=': differs,
  '<': less,
  '<=': lessOrEqual,
  '>': greater,
  '>=': greaterOrEqual,
  in: (value, other) => contains(other, value),
  'not in': (value, other) => !contains(other, value),
};

/** Tests of one value, and tests that compare it with another. */
const ALONE: Readonly<Record<string, (value: Value) => boolean>> = {
  boolean: (value) => typeof value === 'boolean',
  defined: (value) => !(value instanceof Undefined),
  even: (value) => remains(value, 2n, 0n),
  false: (value) => value === false,
  float: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'bigint',
  iterable: (value) => hasItems(value) || value instanceof View || value instanceof Lazy || isLoop(value),
  mapping: (value) => value instanceof Dict,
  none: (value) => value === null,
  number: (value) => numberOf(value) !== undefined,
  odd: (value) => remains(value, 2n, 1n),
  sequence: hasItems,
  string: (value) => textOf(value) !== undefined,
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
};
const WITH_ANOTHER: Readonly<Record<string, Comparison>> = {
  ...COMPARISONS,
  eq: equals,
  equalto: equals,
  ne: differs,
  lt: less,
  lessthan: less,
  le: lessOrEqual,
  gt: greater,
  greaterthan: greater,
  ge: greaterOrEqual,
};

const NONE = new Signature('/');
const ANOTHER = new Signature('other, /');

/** @throws Refused for a test that is not known here */
export function applyTest(name: string, value: Value, given: Arguments): boolean {
  const alone = Object.hasOwn(ALONE, name) ? ALONE[name] : undefined;
  if (alone) {
    NONE.bind(name, given);
    return alone(value);
  }
  const compared = Object.hasOwn(WITH_ANOTHER, name) ? WITH_ANOTHER[name] : undefined;
  if (!compared) throw new Refused(`the test "${name}"`);
  return compared(value, ANOTHER.bind(name, given).value(0));
}
