import { numberOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import {
  characters,
  isList,
  itemsOf,
  Range,
  Safe,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.js';

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
