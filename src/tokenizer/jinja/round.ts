import { numberOf, textOf } from './compare.js';
import { TypeFault } from './faults.js';
import { fixed } from './format.js';
import { binary, floatOf } from './numbers.js';
import { pythonText } from './repr.js';
import type { Bound } from './signature.js';
import { typeName, Undefined, type Value } from './values.js';

/** Jinja's filter `round`. */
export function rounded(value: Value, given: Bound): Value {
  const method = textOf(given.value(1));
  if (method !== 'common' && method !== 'ceil' && method !== 'floor') {
    throw new TypeFault('"round" has the methods common, ceil and floor');
  }
  if (value instanceof Undefined) value.fail();
  if (method !== 'common') {
    const scale = binary('**', 10n, given.value(0));
    return binary('/', whole(binary('*', value, scale), method), scale);
  }
  const number = numberOf(value);
  if (number === undefined) throw new TypeFault(`type ${typeName(value)} doesn't define __round__ method`);
  const digits = given.intOrNone(0);
  if (typeof number === 'bigint') return digits === null || digits >= 0 ? number : roundedInt(number, digits);
  if (digits === null) return integer(Number(fixed(number, 0)));
  if (!Number.isFinite(number) || digits > 100) return number;
  if (digits >= 0) return Number(fixed(number, digits));
  if (digits < -308) return 0 * number;
  const size = Math.abs(number);
  const part = size - Math.trunc(size);
  const doubled = roundedInt(2n * BigInt(Math.trunc(size)) + (part > 0 ? 1n : 0n), digits, 2n);
  return Math.sign(number) * floatOf(doubled);
}

/** To tens, hundreds, ...: a half goes to the even one. */
function roundedInt(value: bigint, digits: number, times = 1n): bigint {
  const unit = 10n ** BigInt(Math.min(5000, -digits));
  const size = value < 0n ? -value : value;
  const [count, rest] = [size / (times * unit), size % (times * unit)];
  const isUp = 2n * rest > times * unit || (2n * rest === times * unit && count % 2n === 1n);
  const made = (isUp ? count + 1n : count) * unit;
  return value < 0n ? -made : made;
}

function whole(value: Value, method: 'ceil' | 'floor'): Value {
  const number = numberOf(value);
  if (number === undefined) throw new TypeFault(`must be real number, not ${typeName(value)}`);
  return typeof number === 'bigint' ? number : integer(Math[method](number));
}

function integer(value: number): bigint {
  if (!Number.isFinite(value)) throw new TypeFault(`cannot convert float ${pythonText(value)} to integer`);
  return BigInt(value);
}
