import { compare, contains, equals, isIdentical, numberOf, textOf } from './compare.js';
import { Refused } from './faults.js';
import { binary } from './numbers.js';
import { pythonText } from './repr.js';
import { Signature } from './signature.js';
import { isLower, isUpper } from './text.js';
import {
  type Arguments,
  Dict,
  Func,
  itemsOf,
  Lazy,
  Safe,
  Struct,
  Undefined,
  type Value,
  View,
} from './values.js';

const remains = (value: Value, by: Value, rest: Value): boolean => equals(binary('%', value, by), rest);

const isCallable = (value: Value): boolean =>
  value instanceof Func || value instanceof Undefined || (value instanceof Struct && value.kind === 'loop');

const hasItems = (value: Value): boolean =>
  textOf(value) !== undefined ||
  itemsOf(value) !== undefined ||
  value instanceof Dict ||
  value instanceof Undefined;

function isSameAs(value: Value, other: Value): boolean {
  const isSame = isIdentical(value, other);
  if (isSame === undefined) throw new Refused('"sameas" of equal texts or numbers');
  return isSame;
}

/** Tests of one value, and those that take another. */
const ALONE: Readonly<Record<string, (value: Value) => boolean>> = {
  boolean: (value) => typeof value === 'boolean',
  callable: isCallable,
  defined: (value) => !(value instanceof Undefined),
  escaped: (value) => value instanceof Safe,
  even: (value) => remains(value, 2n, 0n),
  false: (value) => value === false,
  float: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'bigint',
  iterable: (value) => hasItems(value) || value instanceof View || value instanceof Lazy || isLoop(value),
  lower: (value) => isLower(pythonText(value)),
  mapping: (value) => value instanceof Dict,
  none: (value) => value === null,
  number: (value) => numberOf(value) !== undefined,
  odd: (value) => remains(value, 2n, 1n),
  sequence: hasItems,
  string: (value) => textOf(value) !== undefined,
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
  upper: (value) => isUpper(pythonText(value)),
};

const isLoop = (value: Value): boolean => value instanceof Struct && value.kind === 'loop';

const less = (value: Value, other: Value): boolean => compare(value, other, '<') < 0;
const lessOrEqual = (value: Value, other: Value): boolean => compare(value, other, '<=') <= 0;
const greater = (value: Value, other: Value): boolean => compare(value, other, '>') > 0;
const greaterOrEqual = (value: Value, other: Value): boolean => compare(value, other, '>=') >= 0;
const differs = (value: Value, other: Value): boolean => !equals(value, other);

export const COMPARISONS: Readonly<Record<string, (value: Value, other: Value) => boolean>> = {
  '==': equals,
  '!=': differs,
  '<': less,
  '<=': lessOrEqual,
  '>': greater,
  '>=': greaterOrEqual,
  in: (value, other) => contains(other, value),
  'not in': (value, other) => !contains(other, value),
};

const WITH_ANOTHER: Readonly<Record<string, (value: Value, other: Value) => boolean>> = {
  '==': equals,
  eq: equals,
  equalto: equals,
  '!=': differs,
  ne: differs,
  '<': less,
  lt: less,
  lessthan: less,
  '<=': lessOrEqual,
  le: lessOrEqual,
  '>': greater,
  gt: greater,
  greaterthan: greater,
  '>=': greaterOrEqual,
  ge: greaterOrEqual,
  divisibleby: (value, by) => remains(value, by, 0n),
  in: (value, other) => contains(other, value),
  sameas: isSameAs,
};

const NONE = new Signature('/');
const ANOTHER = new Signature('other, /');
const NUMBER = new Signature('num');

export const isTest = (name: string): boolean =>
  Object.hasOwn(ALONE, name) || Object.hasOwn(WITH_ANOTHER, name);

/** A test of Jinja other than `filter` and `test`; undefined where there is none of this name. */
export function testOf(name: string): ((value: Value, given: Arguments) => boolean) | undefined {
  const [alone, other] = [own(ALONE, name), own(WITH_ANOTHER, name)];
  if (alone) {
    return (value, given) => {
      NONE.bind(name, given);
      return alone(value);
    };
  }
  const signature = name === 'divisibleby' ? NUMBER : ANOTHER;
  return other && ((value, given) => other(value, signature.bind(name, given).value(0)));
}

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
