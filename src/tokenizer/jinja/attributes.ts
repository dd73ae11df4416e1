import { equals, isIdentical, numberOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { type Bound, Signature } from './signature.js';
import { textMethod } from './text-methods.js';
import {
  characters,
  Dict,
  Func,
  isList,
  itemsOf,
  Lazy,
  orElse,
  Range,
  Safe,
  Struct,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from './values.js';

/** What Python's types have, is safe in the sandbox, and is not known here. */
const UNKNOWN: readonly [is: (value: Value) => boolean, names: readonly string[]][] = [
  [isList, ['copy']],
  [(value) => value instanceof Dict, ['fromkeys']],
  [(value) => value instanceof View, ['isdisjoint', 'mapping']],
  [(value) => value instanceof Range, ['start', 'stop', 'step']],
  [(value) => value instanceof Lazy, ['close', 'send', 'throw']],
  [
    (value) => value instanceof Func,
    ['name', 'arguments', 'caller', 'catch_kwargs', 'catch_varargs', 'explicit_caller', 'fromkeys'],
  ],
  [
    (value) => numberOf(value) !== undefined,
    [
      'as_integer_ratio',
      'bit_count',
      'bit_length',
      'conjugate',
      'denominator',
      'from_bytes',
      'fromhex',
      'hex',
    ].concat(['imag', 'is_integer', 'numerator', 'real', 'to_bytes']),
  ],
];

const DICT: Readonly<Record<string, readonly [string, (dict: Dict, given: Bound) => Value]>> = {
  copy: ['/', (dict) => dict],
  get: ['key, default=None, /', (dict, given) => orElse(dict.get(given.value(0)), () => given.value(1))],
  items: ['/', (dict) => new View('items', dict)],
  keys: ['/', (dict) => new View('keys', dict)],
  values: ['/', (dict) => new View('values', dict)],
};

const SEQUENCE: Readonly<
  Record<string, readonly [string, (items: readonly Value[], given: Bound) => Value]>
> = {
  count: ['value, /', (items, given) => BigInt(items.filter((item) => isSame(item, given.value(0))).length)],
  index: ['value, start=0, stop=None, /', (items, given) => indexOf(items, given)],
};

const isSame = (a: Value, b: Value): boolean => isIdentical(a, b) === true || equals(a, b);

function indexOf(items: readonly Value[], given: Bound): bigint {
  const place = (at: number): number => (at < 0 ? Math.max(0, at + items.length) : at);
  const [start, stop] = [place(given.int(1)), place(given.intOrNone(2) ?? items.length)];
  const at = items.findIndex((item, i) => i >= start && i < stop && isSame(item, given.value(0)));
  if (at < 0) throw new TypeFault('value is not in the list');
  return BigInt(at);
}

/** Python's `getattr`; undefined where there is no such attribute, or the sandbox forbids it. */
export function attributeOf(value: Value, name: string): Value | undefined {
  if (value instanceof Undefined) value.fail();
  if (value instanceof Struct) return value.attribute(name);
  if (name.startsWith('_')) return undefined;
  if (typeof value === 'string') {
    const call = textMethod(value, name, ACCESS);
    return call && new Func(name, call);
  }
  if (value instanceof Safe) throw new Refused(`the attribute "${name}" of safe text`);
  if (value instanceof Tuple && value.names.includes(name)) return value.items[value.names.indexOf(name)];
  if (value instanceof Dict && Object.hasOwn(DICT, name)) return method(DICT[name], value, name);
  const items = itemsOf(value);
  if (items && Object.hasOwn(SEQUENCE, name)) return method(SEQUENCE[name], items, name);
  if (UNKNOWN.some(([is, names]) => is(value) && names.includes(name))) {
    throw new Refused(`the attribute "${name}" of '${typeName(value)}'`);
  }
  return undefined;
}

function method<T>(
  entry: readonly [string, (value: T, given: Bound) => Value] | undefined,
  value: T,
  name: string,
): Value | undefined {
  if (entry === undefined) return undefined;
  const [signature, work] = entry;
  return new Func(name, (given) => work(value, new Signature(signature).bind(name, given)));
}

/** Python's `value[key]`; undefined where Python raises an error that Jinja takes for something undefined. */
function itemOf(value: Value, key: Value): Value | undefined {
  if (value instanceof Undefined) value.fail();
  if (value instanceof Dict) return isHashable(key) ? value.get(key) : undefined;
  if (value instanceof Safe) throw new Refused('an item of safe text');
  const items = typeof value === 'string' ? characters(value) : itemsOf(value);
  const at = typeof key === 'number' ? undefined : numberOf(key);
  return items && at !== undefined ? items.at(Number(at)) : undefined;
}

function isHashable(key: Value): boolean {
  return !(isList(key) || key instanceof Dict || (key instanceof Tuple && !key.items.every(isHashable)));
}

/** What Jinja makes of `value.name` and `value[key]`: each falls back to the other. */
export const ACCESS = {
  attribute(value: Value, name: string): Value {
    return orElse(attributeOf(value, name), () => orElse(itemOf(value, name), () => absent(value, name)));
  },

  item(value: Value, key: Value): Value {
    const attribute = (): Value | undefined =>
      typeof key === 'string' ? attributeOf(value, key) : undefined;
    return orElse(itemOf(value, key), () => orElse(attribute(), () => absent(value, key)));
  },
};

function absent(value: Value, key: Value): Undefined {
  const name = typeof key === 'string' ? `attribute "${key}"` : `element ${String(key)}`;
  return new Undefined(`'${typeName(value)}' has no ${name}`);
}
