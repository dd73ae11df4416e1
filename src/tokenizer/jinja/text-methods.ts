import { textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { formatFields } from './jinja-format.js';
import { joinTexts } from './limits.js';
import { type Bound, Signature } from './signature.js';
import * as texts from './text.js';
import { type Arguments, iterate, lengthOf, Tuple, typeName, type Value } from './values.js';

type Method = (text: string, given: Bound) => Value;

/** Methods of texts by Python's signatures. */
const METHODS: Readonly<Record<string, readonly [signature: string, method: Method]>> = {
  capitalize: ['/', texts.capitalized],
  count: ['sub, !start, !end, /', (text, given) => count(text, given.text(0))],
  endswith: ['suffix, !start, !end, /', (text, given) => hasEnd(text, given, 'endsWith')],
  find: ['sub, !start, !end, /', (text, given) => place(text, text.indexOf(given.text(0)))],
  join: ['iterable, /', (text, given) => joinTexts([...iterate(given.value(0))].map(itemText), text)],
  lower: ['/', (text) => text.toLowerCase()],
  lstrip: ['chars=None, /', (text, given) => texts.stripped(text, given.textOrNone(0), true, false)],
  removeprefix: ['prefix, /', (text, given) => withoutStart(text, given.text(0))],
  removesuffix: ['suffix, /', (text, given) => withoutEnd(text, given.text(0))],
  replace: ['old, new, count=-1, /', replaced],
  rfind: ['sub, !start, !end, /', (text, given) => place(text, text.lastIndexOf(given.text(0)))],
  rsplit: ['sep=None, maxsplit=-1', (text, given) => split(text, given, true)],
  rstrip: ['chars=None, /', (text, given) => texts.stripped(text, given.textOrNone(0), false, true)],
  split: ['sep=None, maxsplit=-1', (text, given) => split(text, given, false)],
  splitlines: ['keepends=False', (text, given) => texts.splitLines(text, given.isTrue(0))],
  startswith: ['prefix, !start, !end, /', (text, given) => hasEnd(text, given, 'startsWith')],
  strip: ['chars=None, /', (text, given) => texts.stripped(text, given.textOrNone(0), true, true)],
  title: ['/', texts.titled],
  upper: ['/', (text) => text.toUpperCase()],
};
const UNKNOWN: ReadonlySet<string> = new Set(
  (
    'casefold center encode expandtabs format_map index isalnum isalpha isascii isdecimal isdigit isidentifier ' +
    'islower isnumeric isprintable isspace istitle isupper ljust maketrans partition rindex rjust rpartition ' +
    'swapcase translate zfill'
  ).split(' '),
);

const SIGNATURES = new Map(
  Object.entries(METHODS).map(([name, [written]]) => [name, new Signature(written)]),
);

/**
 * A method of a text, or undefined where Python has none.
 * @throws Refused for one that is not known here
 */
export function textMethod(text: string, name: string): ((given: Arguments) => Value) | undefined {
  const [, method] = Object.hasOwn(METHODS, name) ? (METHODS[name] ?? []) : [];
  const signature = SIGNATURES.get(name);
  if (method && signature) return (given) => method(text, signature.bind(name, given));
  if (name === 'format') return ({ positional, named }) => formatFields(text, positional, named);
  if (UNKNOWN.has(name)) throw new Refused(`the method "${name}" of texts`);
  return undefined;
}

function itemText(item: Value, i: number): string {
  const text = textOf(item);
  if (text === undefined)
    throw new TypeFault(`sequence item ${i}: expected str instance, ${typeName(item)} found`);
  return text;
}

/** @param at in UTF-16 units, negative where nothing is found */
const place = (text: string, at: number): bigint => (at < 0 ? -1n : BigInt(lengthOf(text.slice(0, at))));

const count = (text: string, sub: string): bigint =>
  BigInt(sub === '' ? lengthOf(text) + 1 : text.split(sub).length - 1);

function hasEnd(text: string, given: Bound, way: 'startsWith' | 'endsWith'): boolean {
  const value = given.value(0);
  const parts = value instanceof Tuple ? value.items.map(textOf) : [given.text(0)];
  return parts.some((part) => {
    if (part === undefined) throw new TypeFault(`tuple for ${way.toLowerCase()} must only contain str`);
    return text[way](part);
  });
}

const withoutStart = (text: string, start: string): string =>
  text.startsWith(start) ? text.slice(start.length) : text;

const withoutEnd = (text: string, end: string): string =>
  end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text;

function replaced(text: string, given: Bound): string {
  const [old, by, limit] = [given.text(0), given.text(1), given.int(2)];
  return joinTexts(texts.replaced(text, old, limit), by);
}

function split(text: string, given: Bound, fromRight: boolean): Value {
  const separator = given.textOrNone(0);
  if (separator === '') throw new TypeFault('empty separator');
  return texts.split(text, separator, given.int(1), fromRight);
}
