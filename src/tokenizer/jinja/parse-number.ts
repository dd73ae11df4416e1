import { numberOf, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { floatOf } from './numbers.js';
import { stripped } from './text.js';
import { Undefined, type Value } from './values.js';

const FLOAT = /^[+-]?(?:(?:\d+(?:_\d+)*)?\.?(?:\d+(?:_\d+)*)?(?:e[+-]?\d+(?:_\d+)*)?|inf|infinity|nan)$/i;

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
  if (
    !FLOAT.test(written) ||
    !/[\dn]/i.test(written) ||
    /^[+-]?\.?e/i.test(written) ||
    /\._|_\./.test(written)
  ) {
    return undefined;
  }
  if (/n/i.test(written)) {
    if (/nan/i.test(written)) return Number.NaN;
    return written.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  return Number(written.replaceAll('_', ''));
}

/** Python's `int(value)`, or that of its float; undefined where there is none. */
export function toInt(value: Value, base: number): bigint | undefined {
  if (value instanceof Undefined) value.fail();
  const text = textOf(value);
  if (text === undefined) {
    const number = numberOf(value);
    if (typeof number !== 'number') return number;
    if (Number.isNaN(number)) return undefined;
    if (!Number.isFinite(number)) throw new TypeFault('cannot convert float infinity to integer');
    return BigInt(Math.trunc(number));
  }
  const written = intOf(plain(text), base);
  if (written !== undefined) return written;
  const number = toFloat(text);
  return number !== undefined && Number.isFinite(number) ? BigInt(Math.trunc(number)) : undefined;
}

function plain(text: string): string {
  const written = stripped(text, null, true, true);
  if (/(?![0-9])\p{Nd}/u.test(written)) throw new Refused('a number of other digits than 0 to 9');
  return written;
}

function intOf(text: string, base: number): bigint | undefined {
  if (base !== 0 && (base < 2 || base > 36)) return undefined;
  const [, sign = '', prefix = '', digits = ''] = /^([+-]?)(0[xob](?:_)?)?(\w+(?:_\w+)*)$/i.exec(text) ?? [];
  const ofPrefix = { '0x': 16, '0o': 8, '0b': 2 }[prefix.toLowerCase().slice(0, 2)];
  const isPrefixed = ofPrefix !== undefined && (base === 0 || base === ofPrefix);
  const radix = isPrefixed ? ofPrefix : base === 0 ? 10 : base;
  const all = (isPrefixed ? digits : prefix + digits).toLowerCase();
  if (all === '' || /^_|__|_$/.test(all)) return undefined;
  if (base === 0 && !isPrefixed && /^0[0_]*[1-9]/.test(all)) return undefined;
  const plainDigits = all.replaceAll('_', '');
  if (plainDigits.length > MOST_DIGITS) {
    if (Number.isInteger(Math.log2(radix))) throw new Refused(`a number of more than ${MOST_DIGITS} digits`);
    return undefined;
  }
  let value = 0n;
  for (const digit of plainDigits) {
    const size = Number.parseInt(digit, 36);
    if (!(size < radix)) return undefined;
    value = value * BigInt(radix) + BigInt(size);
  }
  return sign === '-' ? -value : value;
}
