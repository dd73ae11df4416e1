import { numberOf, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { percent } from './jinja-format.js';
import { joinTexts, repeatText } from './limits.js';
import { stripped } from './text.js';
import { isList, itemsOf, Safe, Tuple, typeName, Undefined, type Value } from './values.js';

/** More bits than any count; Python itself writes no number of more than 4300 digits. */
const MAX_BITS = 2 ** 16;

const isZero = (value: bigint | number): boolean => value === 0 || value === 0n;

function floatOf(value: bigint | number): number {
  const number = Number(value);
  if (typeof value === 'bigint' && !Number.isFinite(number)) {
    throw new TypeFault('int too large to convert to float');
  }
  return number;
}

const ARITHMETIC: Readonly<
  Record<string, readonly [(a: bigint, b: bigint) => Value, (a: number, b: number) => number]>
> = {
  '+': [(a, b) => a + b, (a, b) => a + b],
  '-': [(a, b) => a - b, (a, b) => a - b],
  '*': [(a, b) => a * b, (a, b) => a * b],
  '/': [quotient, (a, b) => a / b],
  '//': [floorDivided, () => refused('//')],
  '%': [(a, b) => a - b * floorDivided(a, b), () => refused('%')],
};

function refused(operator: string): never {
  throw new Refused(`"${operator}" of floats`);
}

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
    throw new Refused('"+" with safe text');
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

/** What is exact in a float, both operands and rounding. */
function quotient(a: bigint, b: bigint): number {
  if ([a, b].some((each) => BigInt.asIntN(54, each) !== each)) throw new Refused('"/" of large ints');
  return Number(a) / Number(b);
}

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
