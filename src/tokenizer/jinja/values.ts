import { Refused, TypeFault } from './faults.js';

/**
 * A value of a template, as Python has it: `int` is a bigint, `float` a number, `str` a string whose characters are
 * code points, `list` an array. Nothing changes a list or a dict: the sandbox of transformers forbids it.
 */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly Value[]
  | Safe
  | Tuple
  | Range
  | Dict
  | View
  | Lazy
  | Undefined
  | Func
  | Struct;

/** What is not there: an empty text, an empty list, false; all else that is done with it is an error. */
export class Undefined {
  readonly reason: string;

  /** @param reason for the error */
  constructor(reason: string) {
    this.reason = reason;
  }

  fail(): never {
    throw new TypeFault(this.reason);
  }
}

/** Text that is not to be escaped for HTML (`Markup`). */
export class Safe {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export class Tuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

export class Range {
  readonly items: readonly Value[];

  constructor(start: number, step: number, length: number) {
    this.items = Array.from({ length }, (_, i) => BigInt(start + i * step));
  }
}

export class Dict {
  readonly #entries: Map<unknown, readonly [Value, Value]>;

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    this.#entries = new Map();
    for (const [key, value] of entries) this.set(key, value);
  }

  /** Only while it is made: a key that is there keeps its first spelling (`1` and `true` are one key). */
  set(key: Value, value: Value): void {
    const hash = hashOf(key);
    this.#entries.set(hash, [this.#entries.get(hash)?.[0] ?? key, value]);
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(hashOf(key))?.[1];
  }

  get size(): number {
    return this.#entries.size;
  }

  get entries(): (readonly [Value, Value])[] {
    return [...this.#entries.values()];
  }

  get keys(): Value[] {
    return this.entries.map(([key]) => key);
  }
}

/** `keys()`, `values()` or `items()` of a dict. */
export class View {
  readonly kind: 'keys' | 'values' | 'items';
  readonly dict: Dict;

  constructor(kind: View['kind'], dict: Dict) {
    this.kind = kind;
    this.dict = dict;
  }

  get items(): Value[] {
    if (this.kind === 'items') return this.dict.entries.map((entry) => new Tuple(entry));
    return this.dict.entries.map(([key, value]) => (this.kind === 'keys' ? key : value));
  }
}

/** A generator or an iterator: it can be read once, and makes its values when they are read. */
export class Lazy {
  readonly iterator: Iterator<Value>;

  constructor(values: Iterable<Value>) {
    this.iterator = values[Symbol.iterator]();
  }
}

export interface Arguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

export class Func {
  readonly name: string;
  readonly call: (given: Arguments) => Value;

  constructor(name: string, call: (given: Arguments) => Value) {
    this.name = name;
    this.call = call;
  }
}

export abstract class Struct {
  abstract readonly kind: 'namespace' | 'loop';
  abstract attribute(name: string): Value | undefined;
}

export class Namespace extends Struct {
  readonly kind = 'namespace';
  readonly #attributes = new Dict();

  attribute(name: string): Value | undefined {
    return this.#attributes.get(name);
  }

  /** Transformers' namespaces have no attributes that begin with an underscore. */
  set(name: Value, value: Value): void {
    if (typeof name === 'string' && name.startsWith('_')) {
      throw new TypeFault(`a namespace has no attribute "${name}"`);
    }
    this.#attributes.set(name, value);
  }
}

/** The items of a sequence that has an order and a length. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (value instanceof Tuple || value instanceof Range) return value.items;
  return isList(value) ? value : undefined;
}

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

/** A value that may be None, which `??` would take for missing. */
export const orElse = (value: Value | undefined, other: () => Value): Value =>
  value === undefined ? other() : value;

/** What tells a key of a dict from another: equal values have the same. */
function hashOf(value: Value): unknown {
  if (typeof value === 'string') return `s${value}`;
  if (value instanceof Safe) return `s${value.text}`;
  if (typeof value === 'boolean') return `n${Number(value)}`;
  if (typeof value === 'bigint' || typeof value === 'number') {
    return `n${Number.isInteger(value) ? BigInt(value) : value}`;
  }
  if (value instanceof Tuple) throw new Refused('a tuple as a key');
  if (isList(value) || value instanceof Dict) throw new TypeFault(`unhashable type: '${typeName(value)}'`);
  return value instanceof Undefined ? 'u' : value;
}

export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (value instanceof Tuple) return 'tuple';
  if (value instanceof Dict) return 'dict';
  if (value instanceof Range) return 'range';
  if (value instanceof View) return `dict_${value.kind}`;
  if (value instanceof Lazy) return 'generator';
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Func) return 'function';
  if (value instanceof Struct) return value.kind;
  if (value instanceof Safe) return 'Markup';
  if (isList(value)) return 'list';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'int' : 'float';
}

/** The characters of a text: code points, not UTF-16 units. */
export const characters = (text: string): readonly string[] => (isBasic(text) ? text.split('') : [...text]);

/** Whether each character is one UTF-16 unit. */
const isBasic = (text: string): boolean => !/[\ud800-\udbff][\udc00-\udfff]/.test(text);

export function lengthOf(value: Value): number {
  if (typeof value === 'string') return isBasic(value) ? value.length : [...value].length;
  if (value instanceof Safe) return lengthOf(value.text);
  if (value instanceof Undefined) return 0;
  if (value instanceof Dict) return value.size;
  if (value instanceof View) return value.dict.size;
  const items = itemsOf(value);
  if (items === undefined) throw new TypeFault(`object of type '${typeName(value)}' has no len()`);
  return items.length;
}

/** What a loop over a value reads. */
export function iterate(value: Value): Iterable<Value> {
  if (typeof value === 'string') return characters(value);
  if (value instanceof Safe) return characters(value.text);
  if (value instanceof Undefined) return [];
  if (value instanceof Dict) return value.keys;
  if (value instanceof View) return value.items;
  if (value instanceof Lazy) return { [Symbol.iterator]: () => value.iterator };
  if (value instanceof Struct && value.kind === 'loop') throw new Refused('a loop over `loop`');
  const items = itemsOf(value);
  if (items === undefined) throw new TypeFault(`'${typeName(value)}' object is not iterable`);
  return items;
}

export function isTrue(value: Value): boolean {
  if (value instanceof Lazy || value instanceof Func || value instanceof Struct) return true;
  if (typeof value === 'object' && value !== null) return lengthOf(value) > 0;
  return Boolean(value) || Number.isNaN(value);
}
