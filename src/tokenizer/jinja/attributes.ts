import { numberOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { type Bound, Signature } from './signature.js';
import { textMethod } from './text-methods.js';
import {
  characters,
  Dict,
  Func,
  isList,
  itemsOf,
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

const OF_NUMBERS =
  'as_integer_ratio bit_count bit_length conjugate denominator from_bytes fromhex hex imag is_integer numerator real to_bytes';
/** Attributes of Python's types that are safe in the sandbox, and not known here. */
const UNKNOWN: Readonly<Record<string, string>> = {
  list: 'copy count index',
  tuple: 'count index',
  range: 'count index start step stop',
  dict: 'copy fromkeys',
  dict_items: 'isdisjoint mapping',
  dict_keys: 'isdisjoint mapping',
  dict_values: 'mapping',
  generator: 'close send throw',
  function: 'arguments caller catch_kwargs catch_varargs explicit_caller fromkeys name',
  bool: OF_NUMBERS,
  float: OF_NUMBERS,
  int: OF_NUMBERS,
};

const DICT: Readonly<Record<string, readonly [string, (dict: Dict, given: Bound) => Value]>> = {
  get: ['key, default=None, /', (dict, given) => orElse(dict.get(given.value(0)), () => given.value(1))],
  items: ['/', (dict) => new View('items', dict)],
  keys: ['/', (dict) => new View('keys', dict)],
  values: ['/', (dict) => new View('values', dict)],
};

/** Python's `getattr`; undefined where there is no such attribute, or the sandbox forbids it. */
function attributeOf(value: Value, name: string): Value | undefined {
  if (value instanceof Undefined) value.fail();
  if (value instanceof Struct) return value.attribute(name);
  if (name.startsWith('_')) return undefined;
  if (typeof value === 'string') {
    const call = textMethod(value, name);
    return call && new Func(name, call);
  }
  if (value instanceof Safe) throw new Refused(`the attribute "${name}" of safe text`);
  const entry = value instanceof Dict && Object.hasOwn(DICT, name) ? DICT[name] : undefined;
  if (value instanceof Dict && entry) {
    const [signature, work] = entry;
    return new Func(name, (given) => work(value, new Signature(signature).bind(name, given)));
  }
  if (UNKNOWN[typeName(value)]?.split(' ').includes(name)) {
    throw new Refused(`the attribute "${name}" of '${typeName(value)}'`);
  }
  return undefined;
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

/** Python's `value[start:stop:step]`. */
export function sliced(value: Value, start: Value, stop: Value, step: Value): Value {
  if (value instanceof Undefined) value.fail();
  if (value instanceof Safe) throw new Refused('a slice of safe text');
  const all =
    typeof value === 'string' ? characters(value) : value instanceof Range ? undefined : itemsOf(value);
  // Python's error; Jinja prints nothing if the value is written in the template.
  if (all === undefined) throw new Refused(`a slice of '${typeName(value)}'`);
  const stepSize = placeOf(step) ?? 1;
  const [from, to] = boundsOf(all.length, placeOf(start), placeOf(stop), stepSize);
  const count = Math.max(0, Math.ceil((to - from) / stepSize));
  const places = Array.from({ length: count }, (_, i) => from + i * stepSize);
  const items = places.map((at) => all[at] ?? null);
  if (typeof value === 'string') return items.join('');
  return isList(value) ? items : new Tuple(items);
}

function placeOf(value: Value): number | null {
  if (value === null) return null;
  const number = typeof value === 'number' ? undefined : numberOf(value);
  if (number === undefined) throw new TypeFault('slice indices must be integers or None');
  return Number(number);
}

function boundsOf(length: number, start: number | null, stop: number | null, step: number): [number, number] {
  if (step === 0) throw new TypeFault('slice step cannot be zero');
  const [least, most] = step > 0 ? [0, length] : [-1, length - 1];
  const clamp = (place: number | null, standard: number): number => {
    if (place === null) return standard;
    return Math.max(least, Math.min(most, place < 0 ? place + length : place));
  };
  return [clamp(start, step > 0 ? least : most), clamp(stop, step > 0 ? most : least)];
}
