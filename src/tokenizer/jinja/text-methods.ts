import { textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { type FieldAccess, formatFields } from './format.js';
import { checkLength, joinTexts, repeatText } from './limits.js';
import { type Bound, Signature } from './signature.js';
import * as texts from './text.js';
import {
  type Arguments,
  characters,
  Dict,
  iterate,
  lengthOf,
  Tuple,
  typeName,
  type Value,
} from './values.js';

type Method = (text: string, given: Bound) => Value;

/** Methods of texts by Python's signatures. */
const METHODS: Readonly<Record<string, readonly [signature: string, method: Method]>> = {
  capitalize: ['/', texts.capitalized],
  casefold: ['/', (text) => folded(text)],
  center: ["width, fillchar=' ', /", (text, given) => centered(text, given)],
  count: ['sub, start=None, end=None, /', (text, given) => count(text, given)],
  endswith: ['suffix, start=None, end=None, /', (text, given) => hasEnd(text, given, 'endsWith')],
  expandtabs: ['tabsize=8', (text, given) => withoutTabs(text, given.int(0))],
  find: ['sub, start=None, end=None, /', (text, given) => found(text, given, 'indexOf') ?? -1n],
  index: ['sub, start=None, end=None, /', (text, given) => found(text, given, 'indexOf') ?? missing()],
  islower: ['/', texts.isLower],
  istitle: ['/', texts.isTitle],
  isupper: ['/', texts.isUpper],
  isascii: ['/', (text) => !/[\u0080-\uffff]/.test(text)],
  join: ['iterable, /', (text, given) => joinTexts([...iterate(given.value(0))].map(itemText), text)],
  ljust: ["width, fillchar=' ', /", (text, given) => text + fill(text, given)],
  lower: ['/', (text) => text.toLowerCase()],
  lstrip: ['chars=None, /', (text, given) => texts.stripped(text, given.textOrNone(0), true, false)],
  partition: ['sep, /', (text, given) => parted(text, given.text(0), false)],
  removeprefix: ['prefix, /', (text, given) => withoutStart(text, given.text(0))],
  removesuffix: ['suffix, /', (text, given) => withoutEnd(text, given.text(0))],
  replace: [
    'old, new, count=-1, /',
    (text, given) => replaced(text, given.text(0), given.text(1), given.int(2)),
  ],
  rfind: ['sub, start=None, end=None, /', (text, given) => found(text, given, 'lastIndexOf') ?? -1n],
  rindex: ['sub, start=None, end=None, /', (text, given) => found(text, given, 'lastIndexOf') ?? missing()],
  rjust: ["width, fillchar=' ', /", (text, given) => fill(text, given) + text],
  rpartition: ['sep, /', (text, given) => parted(text, given.text(0), true)],
  rsplit: ['sep=None, maxsplit=-1', (text, given) => split(text, given, true)],
  rstrip: ['chars=None, /', (text, given) => texts.stripped(text, given.textOrNone(0), false, true)],
  split: ['sep=None, maxsplit=-1', (text, given) => split(text, given, false)],
  splitlines: ['keepends=False', (text, given) => texts.splitLines(text, given.isTrue(0))],
  startswith: ['prefix, start=None, end=None, /', (text, given) => hasEnd(text, given, 'startsWith')],
  strip: ['chars=None, /', (text, given) => texts.stripped(text, given.textOrNone(0), true, true)],
  swapcase: ['/', texts.swapped],
  title: ['/', texts.titled],
  upper: ['/', (text) => text.toUpperCase()],
  zfill: ['width, /', (text, given) => zeroFilled(text, given.int(0))],
};
const QUESTIONS = ['isalnum', 'isalpha', 'isdecimal', 'isdigit', 'isnumeric', 'isspace'];
const UNKNOWN = ['encode', 'isidentifier', 'isprintable', 'maketrans', 'translate'];

const SIGNATURES = new Map(
  Object.entries(METHODS).map(([name, [written]]) => [name, new Signature(written)]),
);

/**
 * A method of a text, or undefined where Python has none.
 * @throws Refused for one that is not known here
 */
export function textMethod(
  text: string,
  name: string,
  access: FieldAccess,
): ((given: Arguments) => Value) | undefined {
  const [, method] = Object.hasOwn(METHODS, name) ? (METHODS[name] ?? []) : [];
  const signature = SIGNATURES.get(name);
  if (method && signature) return (given) => method(text, signature.bind(name, given));
  if (QUESTIONS.includes(name)) {
    return (given) => {
      new Signature('/').bind(name, given);
      return texts.isOfKind(name, text);
    };
  }
  if (name === 'format') {
    return ({ positional, named }) => formatFields(text, positional, (key) => named.get(key), access);
  }
  if (name === 'format_map') {
    return (given) => {
      const fields = new Signature('mapping, /').bind(name, given).value(0);
      if (!(fields instanceof Dict)) throw new Refused('"format_map" of something else than a dict');
      return formatFields(text, [], (key) => fields.get(key), access);
    };
  }
  if (UNKNOWN.includes(name)) throw new Refused(`the method "${name}" of texts`);
  return undefined;
}

/** Letter by letter, as that of no word's end. */
function folded(text: string): string {
  if (/[\u0131\u13a0-\u13fd\u1e9e\uab70-\uabbf]/.test(text)) throw new Refused('"casefold" of these letters');
  return joinTexts(characters(text).map((letter) => letter.toUpperCase().toLowerCase()));
}

function missing(): never {
  throw new TypeFault('substring not found');
}

function itemText(item: Value, i: number): string {
  const text = textOf(item);
  if (text === undefined)
    throw new TypeFault(`sequence item ${i}: expected str instance, ${typeName(item)} found`);
  return text;
}

function fill(text: string, given: Bound): string {
  const character = given.text(1);
  if (lengthOf(character) !== 1) throw new TypeFault('The fill character must be exactly one character long');
  return repeatText(character, Math.max(0, given.int(0) - lengthOf(text)));
}

/** An odd space goes before a text if the width is odd, else behind it. */
function centered(text: string, given: Bound): string {
  const space = characters(fill(text, given));
  const before = Math.floor(space.length / 2) + (space.length & given.int(0) & 1);
  return space.slice(0, before).join('') + text + space.slice(before).join('');
}

/** The part between the places that the second and third arguments name; undefined where Python finds nothing. */
function within(text: string, given: Bound): { readonly part: string; readonly start: number } | undefined {
  const length = lengthOf(text);
  const place = (at: number | null, standard: number): number => {
    const value = at ?? standard;
    return value < 0 ? Math.max(0, value + length) : value;
  };
  const start = place(given.intOrNone(1), 0);
  const end = Math.min(length, place(given.intOrNone(2), length));
  if (start > end) return undefined;
  return { part: start === 0 && end === length ? text : characters(text).slice(start, end).join(''), start };
}

function found(text: string, given: Bound, way: 'indexOf' | 'lastIndexOf'): bigint | undefined {
  const sub = given.text(0);
  const area = within(text, given);
  const at = area?.part[way](sub) ?? -1;
  return area === undefined || at < 0 ? undefined : BigInt(area.start + lengthOf(area.part.slice(0, at)));
}

function count(text: string, given: Bound): bigint {
  const sub = given.text(0);
  const area = within(text, given);
  if (area === undefined) return 0n;
  return BigInt(sub === '' ? lengthOf(area.part) + 1 : area.part.split(sub).length - 1);
}

function hasEnd(text: string, given: Bound, way: 'startsWith' | 'endsWith'): boolean {
  const value = given.value(0);
  const parts = value instanceof Tuple ? value.items.map(textOf) : [given.text(0)];
  const area = within(text, given);
  return parts.some((part) => {
    if (part === undefined) throw new TypeFault(`tuple for ${way.toLowerCase()} must only contain str`);
    return area?.part[way](part) ?? false;
  });
}

function parted(text: string, separator: string, fromRight: boolean): Tuple {
  if (separator === '') throw new TypeFault('empty separator');
  const at = fromRight ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at < 0) return new Tuple(fromRight ? ['', '', text] : [text, '', '']);
  return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

const withoutStart = (text: string, start: string): string =>
  text.startsWith(start) ? text.slice(start.length) : text;

const withoutEnd = (text: string, end: string): string =>
  end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text;

export const replaced = (text: string, old: string, by: string, limit: number): string =>
  joinTexts(texts.replaced(text, old, limit), by);

function split(text: string, given: Bound, fromRight: boolean): Value {
  const separator = given.textOrNone(0);
  if (separator === '') throw new TypeFault('empty separator');
  return texts.split(text, separator, given.int(1), fromRight);
}

function withoutTabs(text: string, size: number): string {
  let column = 0;
  const parts = characters(text).map((character) => {
    if (character === '\n' || character === '\r') column = -1;
    const width = character !== '\t' ? 1 : size > 0 ? size - (column % size) : 0;
    column += width;
    return character === '\t' ? repeatText(' ', width) : character;
  });
  return joinTexts(parts);
}

function zeroFilled(text: string, width: number): string {
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  checkLength(width);
  return sign + repeatText('0', Math.max(0, width - lengthOf(text))) + text.slice(sign.length);
}
