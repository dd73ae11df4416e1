import { numberOf, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { percent } from './format.js';
import { joinTexts, repeatText } from './limits.js';
import { escapeHtml } from './text.js';
import { isList, itemsOf, Safe, Tuple, typeName, Undefined, type Value } from './values.js';

/** More bits than any count; Python itself writes no number of more than 4300 digits. */
const MAX_BITS = 2 ** 16;

const isZero = (value: bigint | number): boolean => value === 0 || value === 0n;

export function floatOf(value: bigint | number): number {
  const number = Number(value);
  if (typeof value === 'bigint' && !Number.isFinite(number)) {
    throw new TypeFault('int too large to convert to float');
  }
  return number;
}

/** Python's binary operators of numbers. */
const ARITHMETIC: Readonly<
  Record<string, readonly [(a: bigint, b: bigint) => Value, (a: number, b: number) => number]>
> = {
  '+': [(a, b) => a + b, (a, b) => a + b],
  '-': [(a, b) => a - b, (a, b) => a - b],
  '*': [(a, b) => a * b, (a, b) => a * b],
  '/': [quotient, (a, b) => a / b],
  '//': [floorDivided, (a, b) => floorOf(a, b)],
  '%': [(a, b) => a - b * floorDivided(a, b), remainder],
  '**': [power, floatPower],
};

export function binary(operator: string, a: Value, b: Value): Value {
  for (const value of [a, b]) {
    if (value instanceof Undefined && !(operator === '%' && value === b && textOf(a) !== undefined))
      value.fail();
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  const operation = ARITHMETIC[operator];
  if (x !== undefined && y !== undefined && operation) {
    if (['/', '//', '%'].includes(operator) && isZero(y)) throw new TypeFault('division by zero');
    if (typeof x === 'bigint' && typeof y === 'bigint') return bounded(operation[0](x, y));
    return operation[1](floatOf(x), floatOf(y));
  }
  if (operator === '%' && typeof a === 'string') return percent(a, b);
  const value =
    operator === '+' ? joined(a, b) : operator === '*' ? (repeated(a, b) ?? repeated(b, a)) : undefined;
  if (value !== undefined) return value;
  if ([a, b].some((each) => each instanceof Safe)) throw new Refused(`"${operator}" with safe text`);
  throw new TypeFault(`unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`);
}

export function unary(operator: string, value: Value): Value {
  if (value instanceof Undefined) value.fail();
  const number = numberOf(value);
  if (number === undefined)
    throw new TypeFault(`bad operand type for unary ${operator}: '${typeName(value)}'`);
  return operator === '-' ? -number : number;
}

function bounded(value: Value): Value {
  if (typeof value === 'bigint' && BigInt.asIntN(MAX_BITS, value) !== value) {
    throw new Refused(`an int of more than ${MAX_BITS} bits`);
  }
  return value;
}

function joined(a: Value, b: Value): Value | undefined {
  const [text, other] = [textOf(a), textOf(b)];
  if (text !== undefined && other !== undefined) {
    if (typeof a === 'string' && typeof b === 'string') return joinTexts([a, b]);
    return new Safe(
      [a, b].map((each) => (each instanceof Safe ? each.text : escapeHtml(String(each)))).join(''),
    );
  }
  if (isList(a) && isList(b)) return [...a, ...b];
  return a instanceof Tuple && b instanceof Tuple ? new Tuple([...a.items, ...b.items]) : undefined;
}

function repeated(sequence: Value, times: Value): Value | undefined {
  const count = typeof times === 'number' ? undefined : numberOf(times);
  if (count === undefined) return undefined;
  const length = Math.max(0, Number(count));
  if (typeof sequence === 'string') return repeatText(sequence, length);
  const items = isList(sequence) || sequence instanceof Tuple ? itemsOf(sequence) : undefined;
  if (items === undefined) return undefined;
  repeatText(' '.repeat(items.length), length);
  const all = items.length === 0 ? [] : Array.from({ length }, () => items).flat();
  return sequence instanceof Tuple ? new Tuple(all) : all;
}

function floorDivided(a: bigint, b: bigint): bigint {
  const whole = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? whole - 1n : whole;
}

/** The sign of a remainder is that of the divisor, also of a zero. */
function remainder(a: number, b: number): number {
  const rest = a % b;
  if (rest === 0) return Math.sign(b) * 0;
  return rest < 0 !== b < 0 ? rest + b : rest;
}

function floorOf(a: number, b: number): number {
  const rest = a % b;
  const whole = (a - rest) / b - (rest !== 0 && rest < 0 !== b < 0 ? 1 : 0);
  if (whole === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const floor = Math.floor(whole);
  return whole - floor > 0.5 ? floor + 1 : floor;
}

/** Correctly rounded, also where an operand has more digits than a float. */
function quotient(a: bigint, b: bigint): number {
  const shift = Math.max(0, 66 - (bitsOf(a) - bitsOf(b)));
  if (bitsOf(a) <= 53 && bitsOf(b) <= 53) return Number(a) / Number(b);
  const scaled = a << BigInt(shift);
  const sticky = scaled % b === 0n ? 0n : 1n;
  const size = (scaled < 0n ? -scaled : scaled) / (b < 0n ? -b : b);
  const half = Math.min(shift + 1, 1000);
  const value = floatOf((size << 1n) | sticky) / 2 ** half / 2 ** (shift + 1 - half);
  return a < 0n !== b < 0n ? -value : value;
}

const bitsOf = (value: bigint): number => (value < 0n ? -value : value).toString(2).length;

function power(base: bigint, exponent: bigint): Value {
  if (exponent < 0n) {
    if (base === 0n) throw new TypeFault('0.0 cannot be raised to a negative power');
    return floatPower(floatOf(base), floatOf(exponent));
  }
  if (base ** 2n > 1n && BigInt(bitsOf(base)) * exponent > BigInt(2 * MAX_BITS)) {
    throw new Refused(`an int of more than ${MAX_BITS} bits`);
  }
  return base ** exponent;
}

function floatPower(base: number, exponent: number): number {
  if (base === 0 && exponent < 0) throw new TypeFault('0.0 cannot be raised to a negative power');
  if (base < 0 && !Number.isInteger(exponent) && Number.isFinite(base) && Number.isFinite(exponent)) {
    throw new Refused('a complex number');
  }
  if (base === 1 || (base === -1 && !Number.isFinite(exponent))) return 1;
  if (!Number.isInteger(exponent) && exponent !== 0.5) throw new Refused('a power with a fraction');
  const value = exponent === 0.5 ? Math.sqrt(base) : wholePower(base, exponent);
  if (!Number.isFinite(value) && Number.isFinite(base) && Number.isFinite(exponent)) {
    throw new TypeFault('Numerical result out of range');
  }
  return value;
}

/** As C's `pow` rounds it; that of JavaScript is less exact. */
function wholePower(base: number, exponent: number): number {
  if (!Number.isFinite(base) || Math.abs(base) < 1e-290 || Math.abs(exponent) > 1100) return base ** exponent;
  let [numerator, denominator] = [base, 1];
  while (!Number.isInteger(numerator)) [numerator, denominator] = [2 * numerator, 2 * denominator];
  const [top, bottom] = [BigInt(numerator), BigInt(denominator)].map(
    (each) => each ** BigInt(Math.abs(exponent)),
  );
  if (top === undefined || bottom === undefined) return Number.NaN;
  return exponent < 0 ? quotient(bottom, top) : quotient(top, bottom);
}
