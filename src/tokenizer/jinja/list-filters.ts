import { ACCESS } from './attributes.js';
import { compare, contains, equals, sorted, textOf } from './compare.js';
import { TypeFault } from './faults.js';
import { joinTexts, repeatText } from './limits.js';
import { binary } from './numbers.js';
import { pythonText } from './repr.js';
import type { Bound } from './signature.js';
import {
  type Arguments,
  characters,
  Dict,
  isTrue,
  iterate,
  Lazy,
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

export function* mapped(value: Value, { positional, named }: Arguments, run: Runtime): Generator<Value> {
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

export function* selected(
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

export function first(value: Value): Value {
  for (const item of iterate(value)) return item;
  return new Undefined('the first item of nothing');
}

/** What Python's `reversed` gives, which takes no generator. */
export function backwards(value: Value): readonly Value[] | undefined {
  if (value instanceof Lazy) return undefined;
  return [...iterate(value)].reverse();
}

export function notBackwards(value: Value): Undefined {
  if (value instanceof Lazy) throw new TypeFault("'generator' object is not reversible");
  return new Undefined('the last item of nothing');
}

export function reversed(value: Value): Value {
  if (typeof value === 'string') return [...characters(value)].reverse().join('');
  const items = backwards(value);
  return items === undefined ? [...iterate(value)].reverse() : new Lazy(items);
}

export function* batches(value: Value, given: Bound): Generator<Value> {
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

export function* slices(value: Value, given: Bound): Generator<Value> {
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

export function sortedItems(value: Value, given: Bound): Value {
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
export function sort(value: Value, given: Bound): Value {
  const attribute = given.value(2);
  const paths = textOf(attribute)?.split(',') ?? [attribute];
  const getters = paths.map((path) => getter(path, !given.isTrue(1)));
  return sorted(iterate(value), (item) => getters.map((get) => get(item)), given.isTrue(0));
}

export function* unique(value: Value, given: Bound, run: Runtime): Generator<Value> {
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

export function extreme(value: Value, given: Bound, run: Runtime, direction: number): Value {
  const get = getter(given.value(1), !given.isTrue(0));
  let best: { readonly item: Value; readonly key: Value } | undefined;
  for (const item of iterate(value)) {
    run.tick();
    const key = get(item);
    if (best === undefined || direction * compare(key, best.key, direction > 0 ? '>' : '<') > 0)
      best = { item, key };
  }
  return best ? best.item : new Undefined('no item of nothing');
}

export function groups(value: Value, given: Bound): Value {
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

export function* items(value: Value): Generator<Value> {
  if (value instanceof Undefined) return;
  if (!(value instanceof Dict)) throw new TypeFault('can only get item pairs from a mapping');
  yield* new View('items', value).items;
}

export function join(value: Value, given: Bound): Value {
  const get = getter(given.value(1), false);
  return joinTexts(
    Array.from(iterate(value), (item) => pythonText(get(item))),
    pythonText(given.value(0)),
  );
}

export function sum(value: Value, given: Bound): Value {
  const start = given.value(1);
  if (textOf(start) !== undefined) throw new TypeFault("sum() can't sum strings");
  const get = getter(given.value(0), false);
  let total = start;
  for (const item of iterate(value)) total = binary('+', total, get(item));
  return total;
}

const lowered = (value: Value): Value => textOf(value)?.toLowerCase() ?? value;
