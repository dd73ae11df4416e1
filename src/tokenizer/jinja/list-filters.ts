import { ACCESS } from './attributes.js';
import { contains, sorted, textOf } from './compare.js';
import { Refused, TypeFault } from './faults.js';
import { joinTexts } from './limits.js';
import { pythonText } from './repr.js';
import type { Bound } from './signature.js';
import {
  type Arguments,
  characters,
  Dict,
  isTrue,
  iterate,
  Lazy,
  orElse,
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
function backwards(value: Value): readonly Value[] | undefined {
  return value instanceof Lazy ? undefined : [...iterate(value)].reverse();
}

export function last(value: Value): Value {
  const items = backwards(value);
  if (items === undefined) throw new TypeFault("'generator' object is not reversible");
  return orElse(items[0], () => new Undefined('the last item of nothing'));
}

export function reversed(value: Value): Value {
  if (typeof value === 'string') return [...characters(value)].reverse().join('');
  const items = backwards(value);
  return items === undefined ? [...iterate(value)].reverse() : new Lazy(items);
}

export function sortedItems(value: Value): Value {
  if (!(value instanceof Dict)) throw new TypeFault(`'${typeName(value)}' has no items`);
  return sorted(
    new View('items', value).items,
    (item) => (item instanceof Tuple ? lowered(item.items[0] ?? null) : null),
    false,
  );
}

export function sort(value: Value, given: Bound): Value {
  const attribute = given.value(2);
  if (textOf(attribute)?.includes(',')) throw new Refused('"sort" by several attributes');
  return sorted(iterate(value), getter(attribute, !given.isTrue(1)), given.isTrue(0));
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

const lowered = (value: Value): Value => textOf(value)?.toLowerCase() ?? value;
