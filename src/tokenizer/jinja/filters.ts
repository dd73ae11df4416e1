import { attributeOf } from './attributes.js';
import { numberOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import {
  backwards,
  batches,
  extreme,
  first,
  groups,
  items,
  join,
  mapped,
  notBackwards,
  type Runtime,
  reversed,
  selected,
  slices,
  sort,
  sortedItems,
  sum,
  unique,
} from './list-filters.js';
import { toFloat, toInt } from './parse-number.js';
import { pythonText } from './repr.js';
import { rounded } from './round.js';
import { type Bound, Signature } from './signature.js';
import * as texts from './text.js';
import {
  center,
  escaped,
  format,
  indented,
  json,
  replace,
  title,
  truncated,
  urlEncoded,
} from './text-filters.js';
import {
  type Arguments,
  isTrue,
  iterate,
  Lazy,
  lengthOf,
  orElse,
  Safe,
  typeName,
  Undefined,
  type Value,
} from './values.js';

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
const OF_SAFE: ReadonlySet<string> = new Set([
  ...['count', 'd', 'default', 'e', 'escape', 'float', 'int', 'join', 'length', 'list', 'replace'],
  ...['safe', 'string', 'tojson', 'urlencode', 'wordcount'],
]);

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
