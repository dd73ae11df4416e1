import { ACCESS, attributeOf } from './attributes.js';
import { compare, contains, equals, numberOf, sorted, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { percent } from './format.js';
import { jsonText } from './json.js';
import { joinTexts, repeatText } from './limits.js';
import { binary } from './numbers.js';
import { toFloat, toInt } from './parse-number.js';
import { pythonText } from './repr.js';
import { rounded } from './round.js';
import { type Bound, Signature } from './signature.js';
import { sliced } from './slice.js';
import * as texts from './text.js';
import { replaced, textMethod } from './text-methods.js';
import {
  type Arguments,
  characters,
  Dict,
  isTrue,
  itemsOf,
  iterate,
  Lazy,
  lengthOf,
  orElse,
  Safe,
  Tuple,
  typeName,
  Undefined,
  type Value,
  View,
} from './values.js';

/** What a filter needs of the template that runs. */
export interface Runtime {
  /** @throws TextLimitError once the template has taken too long */
  tick(): void;
  filter(name: string, value: Value, given: Arguments): Value;
  test(name: string, value: Value, given: Arguments): boolean;
}

type Filter = (value: Value, given: Bound, run: Runtime) => Value;

/** Filters by their signatures without the first parameter. */
const FILTERS: Readonly<Record<string, readonly [signature: string, filter: Filter]>> = {
  abs: ['/', absolute],
  attr: ['name', attribute],
  batch: ['linecount, fill_with=None', (value, given) => new Lazy(batches(value, given))],
  capitalize: ['', (value) => texts.capitalized(pythonText(value))],
  center: ['width=80', (value, given) => center(pythonText(value), given)],
  count: ['/', (value) => BigInt(lengthOf(value))],
  d: ["default_value='', boolean=False", standard],
  default: ["default_value='', boolean=False", standard],
  dictsort: ["case_sensitive=False, by='key', reverse=False", sortedItems],
  e: ['/', escaped],
  escape: ['/', escaped],
  first: ['', first],
  float: ['default=0.0', (value, given) => toFloat(value) ?? given.value(0)],
  groupby: ['attribute, default=None, case_sensitive=False', groups],
  indent: ['width=4, first=False, blank=False', indented],
  int: ['default=0, base=10', (value, given) => toInt(value, given.int(1)) ?? given.value(0)],
  items: ['', (value) => new Lazy(items(value))],
  join: ["d='', attribute=None", join],
  last: ['', (value) => orElse(backwards(value)?.[0], () => notBackwards(value))],
  length: ['/', (value) => BigInt(lengthOf(value))],
  list: ['', (value) => [...iterate(value)]],
  lower: ['', (value) => pythonText(value).toLowerCase()],
  max: ['case_sensitive=False, attribute=None', (value, given, run) => extreme(value, given, run, 1)],
  min: ['case_sensitive=False, attribute=None', (value, given, run) => extreme(value, given, run, -1)],
  replace: ['old, new, count=None', replace],
  reverse: ['', reversed],
  round: ["precision=0, method='common'", (value, given) => rounded(value, given)],
  safe: ['', (value) => (value instanceof Safe ? value : new Safe(pythonText(value)))],
  slice: ['slices, fill_with=None', (value, given) => new Lazy(slices(value, given))],
  sort: ['reverse=False, case_sensitive=False, attribute=None', sort],
  string: ['', (value) => (value instanceof Safe ? value : pythonText(value))],
  sum: ['attribute=None, start=0', sum],
  title: ['', (value) => title(pythonText(value))],
  tojson: ['ensure_ascii=False, indent=None, separators=None, sort_keys=False', json],
  trim: ['chars=None', (value, given) => texts.stripped(pythonText(value), given.textOrNone(0), true, true)],
  truncate: ["length=255, killwords=False, end='...', leeway=None", truncated],
  unique: [
    'case_sensitive=False, attribute=None',
    (value, given, run) => new Lazy(unique(value, given, run)),
  ],
  upper: ['', (value) => pythonText(value).toUpperCase()],
  urlencode: ['', urlEncoded],
  wordcount: ['', (value) => BigInt(pythonText(value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0)],
};

/** Filters that take other filters and tests with their arguments. */
const OF_ALL: Readonly<Record<string, (value: Value, given: Arguments, run: Runtime) => Iterable<Value>>> = {
  map: mapped,
  reject: (value, given, run) => selected(value, given, run, false, false),
  rejectattr: (value, given, run) => selected(value, given, run, false, true),
  select: (value, given, run) => selected(value, given, run, true, false),
  selectattr: (value, given, run) => selected(value, given, run, true, true),
};

const UNKNOWN = [
  'filesizeformat',
  'forceescape',
  'pprint',
  'random',
  'striptags',
  'urlize',
  'wordwrap',
  'xmlattr',
];
/** Those that make of safe text what they make of any text, or leave it as it is. */
const OF_SAFE = new Set([
  'count',
  'd',
  'default',
  'e',
  'escape',
  'float',
  'int',
  'join',
  'length',
  'list',
  'replace',
]);
for (const name of ['safe', 'string', 'tojson', 'urlencode', 'wordcount']) OF_SAFE.add(name);

const SIGNATURES = new Map(
  Object.entries(FILTERS).map(([name, [written]]) => [name, new Signature(written)]),
);

export const isFilter = (name: string): boolean =>
  Object.hasOwn(FILTERS, name) || Object.hasOwn(OF_ALL, name) || name === 'format' || UNKNOWN.includes(name);

/** @throws Refused for a filter that is not known here, TypeFault for one that Jinja does not know */
export function applyFilter(name: string, value: Value, given: Arguments, run: Runtime): Value {
  if (UNKNOWN.includes(name)) throw new Refused(`the filter "${name}"`);
  if (!isFilter(name)) throw new TypeFault(`there is no filter "${name}"`);
  if (value instanceof Safe && !OF_SAFE.has(name)) throw new Refused(`the filter "${name}" of safe text`);
  const ofAll = Object.hasOwn(OF_ALL, name) ? OF_ALL[name] : undefined;
  if (ofAll) return new Lazy(ofAll(value, given, run));
  if (name === 'format') return format(value, given);
  const signature = SIGNATURES.get(name);
  const filter = FILTERS[name]?.[1];
  if (!signature || !filter) throw new TypeFault(`there is no filter "${name}"`);
  return filter(value, signature.bind(name, given), run);
}

function format(value: Value, { positional, named }: Arguments): Value {
  if (positional.length > 0 && named.size > 0)
    throw new TypeFault('"format" takes values by place or by name');
  return percent(pythonText(value), named.size > 0 ? new Dict(named) : new Tuple(positional));
}

/** `attribute` of a filter: a path with dots, or a number. */
function getter(attribute: Value, isFolded: boolean, standard: Value = null): (value: Value) => Value {
  const text = textOf(attribute);
  const parts = text?.split('.').map((part) => (/^\d+$/.test(part) ? BigInt(part) : part)) ?? [attribute];
  return (value) => {
    let found = value;
    for (const part of attribute === null ? [] : parts) {
      found = ACCESS.item(found, part);
      if (standard !== null && found instanceof Undefined) found = standard;
    }
    return isFolded ? lowered(found) : found;
  };
}

const lowered = (value: Value): Value => textOf(value)?.toLowerCase() ?? value;

function* mapped(value: Value, { positional, named }: Arguments, run: Runtime): Generator<Value> {
  if (!isTrue(value)) return;
  const [name, ...rest] = positional;
  if (name === undefined && named.has('attribute')) {
    for (const key of named.keys()) {
      if (!['attribute', 'default'].includes(key)) throw new TypeFault(`"map" takes no argument "${key}"`);
    }
    const get = getter(named.get('attribute') ?? null, false, named.get('default'));
    for (const item of iterate(value)) {
      run.tick();
      yield get(item);
    }
    return;
  }
  if (name === undefined) throw new TypeFault('"map" needs a filter or an attribute');
  for (const item of iterate(value))
    yield run.filter(nameOf(name, 'filter'), item, { positional: rest, named });
}

function nameOf(value: Value, kind: string): string {
  const name = textOf(value);
  if (name === undefined) throw new TypeFault(`there is no ${kind} of the name ${typeName(value)}`);
  return name;
}

function* selected(
  value: Value,
  { positional, named }: Arguments,
  run: Runtime,
  wanted: boolean,
  ofAttribute: boolean,
): Generator<Value> {
  if (!isTrue(value)) return;
  const [attribute, ...others] = ofAttribute ? positional : [null, ...positional];
  if (attribute === undefined) throw new TypeFault('an attribute is missing');
  const [name, ...rest] = others;
  const get = getter(ofAttribute ? attribute : null, false);
  for (const item of iterate(value)) {
    run.tick();
    const part = get(item);
    const given = { positional: rest, named };
    const holds = name === undefined ? isTrue(part) : run.test(nameOf(name, 'test'), part, given);
    if (holds === wanted) yield item;
  }
}

function absolute(value: Value): Value {
  if (value instanceof Undefined) throw new TypeFault("bad operand type for abs(): 'Undefined'");
  const number = numberOf(value);
  if (number === undefined) throw new TypeFault(`bad operand type for abs(): '${typeName(value)}'`);
  return typeof number === 'number' ? Math.abs(number) : number < 0n ? -number : number;
}

function attribute(value: Value, given: Bound): Value {
  const name = given.text(0);
  return orElse(attributeOf(value, name), () => new Undefined(`there is no attribute "${name}"`));
}

function standard(value: Value, given: Bound): Value {
  return value instanceof Undefined || (given.isTrue(1) && !isTrue(value)) ? given.value(0) : value;
}

function escaped(value: Value): Value {
  return value instanceof Safe ? value : new Safe(texts.escapeHtml(pythonText(value)));
}

function center(text: string, given: Bound): Value {
  const width = numberOf(given.value(0));
  if (typeof width !== 'bigint') throw new TypeFault('"center" needs an int');
  return textMethod(text, 'center', ACCESS)?.({ positional: [width], named: new Map() }) ?? text;
}

function first(value: Value): Value {
  for (const item of iterate(value)) return item;
  return new Undefined('the first item of nothing');
}

/** What Python's `reversed` gives, which takes no generator. */
function backwards(value: Value): readonly Value[] | undefined {
  if (value instanceof Lazy) return undefined;
  return [...iterate(value)].reverse();
}

function notBackwards(value: Value): Undefined {
  if (value instanceof Lazy) throw new TypeFault("'generator' object is not reversible");
  return new Undefined('the last item of nothing');
}

function reversed(value: Value): Value {
  if (typeof value === 'string') return [...characters(value)].reverse().join('');
  const items = backwards(value);
  return items === undefined ? [...iterate(value)].reverse() : new Lazy(items);
}

function* batches(value: Value, given: Bound): Generator<Value> {
  let batch: Value[] = [];
  const [count, filling] = [given.int(0), given.value(1)];
  for (const item of iterate(value)) {
    if (batch.length === count) {
      yield batch;
      batch = [];
    }
    batch.push(item);
  }
  if (batch.length === 0) return;
  const missing = filling === null ? 0 : Math.max(0, count - batch.length);
  repeatText(' ', missing);
  yield [...batch, ...Array<Value>(missing).fill(filling)];
}

function* slices(value: Value, given: Bound): Generator<Value> {
  const all = [...iterate(value)];
  const [count, filling] = [given.int(0), given.value(1)];
  if (count === 0) throw new TypeFault('division by zero');
  const size = Math.floor(all.length / count);
  const larger = all.length - size * count;
  let start = 0;
  for (let i = 0; i < count; i++) {
    const end = start + size + (i < larger ? 1 : 0);
    const part = all.slice(start, end);
    yield filling !== null && i >= larger ? [...part, filling] : part;
    start = end;
  }
}

function sortedItems(value: Value, given: Bound): Value {
  if (!(value instanceof Dict)) throw new TypeFault(`'${typeName(value)}' has no items`);
  const by = given.value(1);
  if (by !== 'key' && by !== 'value') throw new TypeFault('"dictsort" sorts by "key" or "value"');
  const key = ({ items }: Tuple): Value => items[by === 'key' ? 0 : 1] ?? null;
  const all = new View('items', value).items;
  return sorted(
    all,
    (item) => {
      const part = item instanceof Tuple ? key(item) : null;
      return given.isTrue(0) ? part : lowered(part);
    },
    given.isTrue(2),
  );
}

/** Sorted by lists of keys, in which equal items need no order. */
function sort(value: Value, given: Bound): Value {
  const attribute = given.value(2);
  const paths = textOf(attribute)?.split(',') ?? [attribute];
  const getters = paths.map((path) => getter(path, !given.isTrue(1)));
  return sorted(iterate(value), (item) => getters.map((get) => get(item)), given.isTrue(0));
}

function* unique(value: Value, given: Bound, run: Runtime): Generator<Value> {
  const get = getter(given.value(1), !given.isTrue(0));
  const seen = new Dict();
  for (const item of iterate(value)) {
    run.tick();
    const key = get(item);
    if (contains(seen, key)) continue;
    seen.set(key, true);
    yield item;
  }
}

function extreme(value: Value, given: Bound, run: Runtime, direction: number): Value {
  const get = getter(given.value(1), !given.isTrue(0));
  let best: { readonly item: Value; readonly key: Value } | undefined;
  for (const item of iterate(value)) {
    run.tick();
    const key = get(item);
    if (best === undefined || direction * compare(key, best.key, direction > 0 ? '>' : '<') > 0)
      best = { item, key };
  }
  return best?.item ?? (best ? null : new Undefined('no item of nothing'));
}

function groups(value: Value, given: Bound): Value {
  const [attribute, standard, isExact] = [given.value(0), given.value(1), given.isTrue(2)];
  const get = getter(attribute, !isExact, standard);
  const shown = getter(attribute, false, standard);
  const made: { readonly key: Value; readonly items: Value[] }[] = [];
  for (const item of sorted(iterate(value), get, false)) {
    const last = made.at(-1);
    if (last && equals(last.key, get(item))) last.items.push(item);
    else made.push({ key: get(item), items: [item] });
  }
  return made.map(
    ({ items }) => new Tuple([(isExact ? get : shown)(items[0] ?? null), items], ['grouper', 'list']),
  );
}

function indented(value: Value, given: Bound): Value {
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

function* items(value: Value): Generator<Value> {
  if (value instanceof Undefined) return;
  if (!(value instanceof Dict)) throw new TypeFault('can only get item pairs from a mapping');
  yield* new View('items', value).items;
}

function join(value: Value, given: Bound): Value {
  const get = getter(given.value(1), false);
  return joinTexts(
    Array.from(iterate(value), (item) => pythonText(get(item))),
    pythonText(given.value(0)),
  );
}

function replace(value: Value, given: Bound): Value {
  const limit = given.intOrNone(2) ?? -1;
  return replaced(pythonText(value), pythonText(given.value(0)), pythonText(given.value(1)), limit);
}

function sum(value: Value, given: Bound): Value {
  const start = given.value(1);
  if (textOf(start) !== undefined) throw new TypeFault("sum() can't sum strings");
  const get = getter(given.value(0), false);
  let total = start;
  for (const item of iterate(value)) total = binary('+', total, get(item));
  return total;
}

const title = (text: string): string =>
  text
    .split(new RegExp(`([-${texts.SPACE}({\\[<]+)`))
    .map((part) => {
      const [letter = ''] = part;
      return letter.toUpperCase() + part.slice(letter.length).toLowerCase();
    })
    .join('');

function json(value: Value, given: Bound): Value {
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

function truncated(value: Value, given: Bound): Value {
  const [length, end] = [given.int(0), given.text(2)];
  const leeway = given.intOrNone(3) ?? 5;
  const kept = length - lengthOf(end);
  if (kept < 0 || leeway < 0) throw new TypeFault('"truncate" is too short');
  if (lengthOf(value) <= length + leeway) return value;
  const start = sliced(value, null, BigInt(kept), null);
  if (typeof start !== 'string') throw new TypeFault(`"truncate" needs a str, not '${typeName(value)}'`);
  return (given.isTrue(1) ? start : (texts.split(start, ' ', 1, true)[0] ?? '')) + end;
}

function urlEncoded(value: Value): Value {
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
