import { ACCESS } from './attributes.js';
import { numberOf, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { percent } from './format.js';
import { jsonText } from './json.js';
import { joinTexts, repeatText } from './limits.js';
import { pythonText } from './repr.js';
import type { Bound } from './signature.js';
import { sliced } from './slice.js';
import * as texts from './text.js';
import { replaced, textMethod } from './text-methods.js';
import {
  type Arguments,
  Dict,
  itemsOf,
  iterate,
  lengthOf,
  Safe,
  Tuple,
  typeName,
  type Value,
  View,
} from './values.js';

export function format(value: Value, { positional, named }: Arguments): Value {
  if (positional.length > 0 && named.size > 0)
    throw new TypeFault('"format" takes values by place or by name');
  return percent(pythonText(value), named.size > 0 ? new Dict(named) : new Tuple(positional));
}

export function escaped(value: Value): Value {
  return value instanceof Safe ? value : new Safe(texts.escapeHtml(pythonText(value)));
}

export function center(text: string, given: Bound): Value {
  const width = numberOf(given.value(0));
  if (typeof width !== 'bigint') throw new TypeFault('"center" needs an int');
  return textMethod(text, 'center', ACCESS)?.({ positional: [width], named: new Map() }) ?? text;
}

export function indented(value: Value, given: Bound): Value {
  if (typeof value !== 'string') throw new TypeFault(`"indent" needs a str, not '${typeName(value)}'`);
  const by = textOf(given.value(0)) ?? repeatText(' ', Math.max(0, given.int(0)));
  const lines = texts.splitLines(`${value}\n`);
  const isBlank = given.isTrue(2);
  const made = lines.map((line, i) => (i > 0 && (line !== '' || isBlank) ? [by, line] : [line]));
  return joinTexts([
    given.isTrue(1) ? by : '',
    joinTexts(made.flatMap((parts, i) => (i > 0 ? ['\n', ...parts] : parts))),
  ]);
}

export function replace(value: Value, given: Bound): Value {
  const limit = given.intOrNone(2) ?? -1;
  return replaced(pythonText(value), pythonText(given.value(0)), pythonText(given.value(1)), limit);
}

export function json(value: Value, given: Bound): Value {
  const indent = given.value(1);
  const isOneLine = indent === null;
  const separators = given.value(2) === null ? undefined : iterate(given.value(2));
  const [item = isOneLine ? ', ' : ',', key = ': '] = separators ? Array.from(separators, separatorOf) : [];
  return jsonText(value, {
    isAscii: given.isTrue(0),
    indent: isOneLine ? null : (textOf(indent) ?? repeatText(' ', Math.max(0, given.int(1)))),
    separators: [item, key],
    isSorted: given.isTrue(3),
  });
}

function separatorOf(value: Value): string {
  const text = textOf(value);
  if (text === undefined) throw new TypeFault('a separator of "tojson" must be a str');
  return text;
}

export function truncated(value: Value, given: Bound): Value {
  const [length, end] = [given.int(0), given.text(2)];
  const leeway = given.intOrNone(3) ?? 5;
  const kept = length - lengthOf(end);
  if (kept < 0 || leeway < 0) throw new TypeFault('"truncate" is too short');
  if (lengthOf(value) <= length + leeway) return value;
  const start = sliced(value, null, BigInt(kept), null);
  if (typeof start !== 'string') throw new TypeFault(`"truncate" needs a str, not '${typeName(value)}'`);
  return (given.isTrue(1) ? start : (texts.split(start, ' ', 1, true)[0] ?? '')) + end;
}

export function urlEncoded(value: Value): Value {
  const quoted = (part: Value): string =>
    encodeURIComponent(pythonText(part)).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  const isOne = textOf(value) !== undefined || numberOf(value) !== undefined || value === null;
  if (isOne) return quoted(value).replaceAll('%2F', '/');
  const pairs = value instanceof Dict ? new View('items', value).items : [...iterate(value)];
  const fields = pairs.map((pair) => {
    const [key, each, ...more] = itemsOf(pair) ?? [];
    if (key === undefined || each === undefined || more.length > 0)
      throw new Refused('"urlencode" of these values');
    return [key, each].map((part) => quoted(part).replaceAll('%20', '+')).join('=');
  });
  return joinTexts(fields, '&');
}

export const title = (text: string): string =>
  text
    .split(new RegExp(`([-${texts.SPACE}({\\[<]+)`))
    .map((part) => {
      const [letter = ''] = part;
      return letter.toUpperCase() + part.slice(letter.length).toLowerCase();
    })
    .join('');
