import { textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { toFloat, toInt } from './jinja-numbers.js';
import { joinTexts, repeatText } from './limits.js';
import {
  first,
  items,
  join,
  last,
  mapped,
  type Runtime,
  reversed,
  selected,
  sort,
  sortedItems,
  unique,
} from './list-filters.js';
import { jsonText, pythonText } from './repr.js';
import { type Bound, Signature } from './signature.js';
import * as texts from './text.js';
import {
  type Arguments,
  isTrue,
  iterate,
  Lazy,
  lengthOf,
  Safe,
  typeName,
  Undefined,
  type Value,
} from './values.js';

type Filter = (value: Value, given: Bound, run: Runtime) => Value;

/** Filters by their signatures without the first parameter. */
const FILTERS: Readonly<Record<string, readonly [signature: string, filter: Filter]>> = {
  capitalize: ['', (value) => texts.capitalized(pythonText(value))],
  count: ['/', (value) => BigInt(lengthOf(value))],
  d: ["default_value='', boolean=False", standard],
  default: ["default_value='', boolean=False", standard],
  dictsort: ['!case_sensitive, !by, !reverse', sortedItems],
  first: ['', first],
  float: ['default=0.0', (value, given) => toFloat(value) ?? given.value(0)],
  indent: ['width=4, first=False, blank=False', indented],
  int: ['default=0, !base', (value, given) => toInt(value) ?? given.value(0)],
  items: ['', (value) => new Lazy(items(value))],
  join: ["d='', attribute=None", join],
  last: ['', last],
  length: ['/', (value) => BigInt(lengthOf(value))],
  list: ['', (value) => [...iterate(value)]],
  lower: ['', (value) => pythonText(value).toLowerCase()],
  replace: ['old, new, count=None', replace],
  reverse: ['', reversed],
  safe: ['', (value) => (value instanceof Safe ? value : new Safe(pythonText(value)))],
  sort: ['reverse=False, case_sensitive=False, attribute=None', sort],
  string: ['', (value) => (value instanceof Safe ? value : pythonText(value))],
  title: ['', (value) => texts.titleOf(pythonText(value))],
  tojson: ['ensure_ascii=False, indent=None, separators=None, !sort_keys', json],
  trim: ['chars=None', (value, given) => texts.stripped(pythonText(value), given.textOrNone(0), true, true)],
  unique: [
    'case_sensitive=False, attribute=None',
    (value, given, run) => new Lazy(unique(value, given, run)),
  ],
  upper: ['', (value) => pythonText(value).toUpperCase()],
};

/** Filters that take other filters and tests with their arguments. */
const OF_ALL: Readonly<Record<string, (value: Value, given: Arguments, run: Runtime) => Iterable<Value>>> = {
  map: mapped,
  reject: (value, given, run) => selected(value, given, run, false, false),
  rejectattr: (value, given, run) => selected(value, given, run, false, true),
  select: (value, given, run) => selected(value, given, run, true, false),
  selectattr: (value, given, run) => selected(value, given, run, true, true),
};

/** Filters that make of safe text what they make of any text, or leave it as it is. */
const OF_SAFE: ReadonlySet<string> = new Set(
  'count d default float int join length list replace safe string tojson'.split(' '),
);

const BOUND = new Map(
  Object.entries(FILTERS).map(([name, [written, filter]]) => [
    name,
    { signature: new Signature(written), filter },
  ]),
);

/** @throws Refused for a filter that is not known here */
export function applyFilter(name: string, value: Value, given: Arguments, run: Runtime): Value {
  const ofAll = Object.hasOwn(OF_ALL, name) ? OF_ALL[name] : undefined;
  const own = BOUND.get(name);
  if (!ofAll && !own) throw new Refused(`the filter "${name}"`);
  if (value instanceof Safe && !OF_SAFE.has(name)) throw new Refused(`the filter "${name}" of safe text`);
  return ofAll
    ? new Lazy(ofAll(value, given, run))
    : own!.filter(value, own!.signature.bind(name, given), run);
}

function standard(value: Value, given: Bound): Value {
  return value instanceof Undefined || (given.isTrue(1) && !isTrue(value)) ? given.value(0) : value;
}

function replace(value: Value, given: Bound): Value {
  const [text, old, by] = [value, given.value(0), given.value(1)].map(pythonText);
  return joinTexts(texts.replaced(text ?? '', old ?? '', given.intOrNone(2) ?? -1), by);
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

function json(value: Value, given: Bound): Value {
  if (given.isTrue(0)) throw new Refused('"tojson" with ensure_ascii');
  const indent = given.value(1);
  const isOneLine = indent === null;
  const separators = given.value(2) === null ? [] : Array.from(iterate(given.value(2)), textOf);
  if (separators.includes(undefined)) throw new TypeFault('a separator of "tojson" must be a str');
  const [item = isOneLine ? ', ' : ',', key = ': '] = separators;
  return jsonText(value, {
    indent: isOneLine ? null : (textOf(indent) ?? repeatText(' ', Math.max(0, given.int(1)))),
    separators: [item, key],
  });
}
