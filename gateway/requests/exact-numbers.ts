import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { replaceExact } from '../../src/files/exact-json.js';
import { endOfString } from '../../src/files/json-bounds.js';

/** Stands before the text of a number that is written as a string for a moment; nobody else knows it. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');

let isWriting = false;

/** A number of a JSON text that JavaScript would write otherwise, such as 12345678901234567, 1.10 or 1e400. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): number {
    return Number(this.text);
  }

  /** Its value, except within {@link jsonText}. */
  toJSON(): string | number {
    if (!isWriting) return this.value;
    hasExact = true;
    return MARK + this.text;
  }
}

let hasExact = false;

/** `JSON.stringify`, with the digits of exact numbers. */
export function jsonText(value: unknown): string {
  isWriting = true;
  hasExact = false;
  try {
    const json = JSON.stringify(value);
    return hasExact ? json.replaceAll(MARKED, '$1') : json;
  } finally {
    isWriting = false;
  }
}

/**
 * The value of a valid JSON text with {@link ExactNumber}s, where it has any; else the value that is given. Strings are
 * passed over: it takes time by the length of the text, and another parse only where digits would be lost.
 * @param plain the same as `JSON.parse` has it
 */
export function withExactNumbers<T>(json: string, plain: T): T | ReturnType<typeof JSON.parse> {
  const marked = replaceExact(json, (number) => `"${MARK}${number}"`);
  return marked === json ? plain : revived(JSON.parse(marked));
}

/** Changes it in place. A field may be called `__proto__`. */
function revived(value: unknown): unknown {
  if (typeof value === 'string')
    return value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  for (const [name, own] of Object.entries(value)) {
    const exact = revived(own);
    if (exact !== own) Object.defineProperty(value, name, { value: exact });
  }
  return value;
}

/** Fields by their names. */
type Fields = Readonly<Record<string, unknown>>;

/** Of an object that was parsed: its fields that have exact numbers, with these. Copies of the object have it, too. */
const EXACT = Symbol('exact numbers');

export function exactOf(object: unknown): Fields {
  const known: { readonly [EXACT]?: Fields } = Object(object);
  return known[EXACT] ?? {};
}

/** Lets an object made of another have its exact fields. */
export const carryExact = <T>(to: T, from: unknown): T => keep(to, exactOf(from));

/** Lets an object that a text was parsed to have exact fields. */
export function keepExact<T>(plain: T, json: string): T {
  const exact: unknown = withExactNumbers(json, plain);
  return exact === plain
    ? plain
    : keep(plain, Object.fromEntries(Object.entries(Object(exact)).filter(([, value]) => isExact(value))));
}

function keep<T>(to: T, exact: Fields): T {
  if (typeof to === 'object' && to !== null && Object.keys(exact).length > 0)
    Object.assign(to, { [EXACT]: exact });
  return to;
}

const isExact = (value: unknown): boolean =>
  value instanceof ExactNumber ||
  (typeof value === 'object' && value !== null && Object.values(value).some(isExact));

/** Fields with the exact numbers that a client sent, where they have these values still. */
export function withExactFields(fields: Fields, exact: Fields): Fields {
  const same = Object.entries(exact).filter(
    ([name, value]) => Object.hasOwn(fields, name) && isDeepStrictEqual(plainOf(value), fields[name]),
  );
  return same.length === 0 ? fields : { ...fields, ...Object.fromEntries(same) };
}

function plainOf(exact: unknown): unknown {
  if (exact instanceof ExactNumber) return exact.value;
  if (Array.isArray(exact)) return exact.map(plainOf);
  if (typeof exact !== 'object' || exact === null) return exact;
  return Object.fromEntries(Object.entries(exact).map(([name, value]) => [name, plainOf(value)]));
}

/**
 * The text of a JSON object with other values of some fields, which come first; `undefined` leaves a field out. All else
 * stays as it is, with every digit, on one line.
 */
export function withFields(json: string, fields: Fields): string {
  const members = [jsonText(fields).slice(1, -1)];
  let [level, from] = [0, 0];
  let name: unknown = null;
  const end = (to: number): void => {
    if (typeof name === 'string' && !Object.hasOwn(fields, name)) members.push(json.slice(from, to));
    from = to + 1;
    name = null;
  };
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    // "[" and "{" differ in one bit, and so do "]" and "}".
    const bracket = code | 0x20;
    if (code === QUOTE) {
      const to = endOfString(json, at);
      if (level === 1) name ??= nameOf(json.slice(at, to + 1));
      at = to;
    } else if (bracket === 0x7b) {
      if (level === 0) from = at + 1;
      level += 1;
    } else if (bracket === 0x7d) {
      level -= 1;
      if (level === 0) end(at);
    } else if (code === COMMA && level === 1) end(at);
  }
  // Line breaks of JSON stand between its parts.
  return `{${members.filter((member) => member !== '').join(',')}}`.replaceAll(/[\r\n]/g, ' ');
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const nameOf = (json: string): unknown => (json.includes('\\') ? JSON.parse(json) : json.slice(1, -1));
