import { numberOf, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { floatOf } from './numbers.js';
import { stripped } from './text.js';
import { Undefined, type Value } from './values.js';

/** Python reads no longer decimal number. */
const MOST_DIGITS = 4300;

/** Python's `float(value)`; undefined where it is none. */
export function toFloat(value: Value): number | undefined {
  if (value instanceof Undefined) value.fail();
  const text = textOf(value);
  if (text === undefined) {
    const number = numberOf(value);
    return number === undefined ? undefined : floatOf(number);
  }
  const written = plain(text);
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(written) ? Number(written) : undefined;
}

/** Python's `int(value)`, or that of its float; undefined where there is none. */
export function toInt(value: Value): bigint | undefined {
  if (value instanceof Undefined) value.fail();
  const text = textOf(value);
  const written = text === undefined ? '' : plain(text);
  if (/^[+-]?\d+$/.test(written) && written.length <= MOST_DIGITS) return BigInt(written.replace('+', ''));
  const number = text === undefined ? numberOf(value) : toFloat(text);
  if (typeof number !== 'number') return number;
  if (Number.isNaN(number)) return undefined;
  if (Number.isFinite(number)) return BigInt(Math.trunc(number));
  if (text !== undefined) return undefined;
  throw new TypeFault('cannot convert float infinity to integer');
}

/** @throws Refused for what Python reads, and is not read here */
function plain(text: string): string {
  const written = stripped(text, null, true, true);
  if (/(?![0-9])\p{Nd}|\d_\d|^[+-]?(?:inf|infinity|nan)$/iu.test(written)) {
    throw new Refused(`the number "${written}"`);
  }
  return written;
}
