import { asObject, type Json } from '../upstream/wire/json.js';

/** Given whole at each mention; other strings come in parts. */
const WHOLE: ReadonlySet<string> = new Set([
  ...['id', 'type', 'name', 'role', 'index', 'format', 'object', 'finish_reason'],
]);

/** A value that is JSON already, in parts: so little is left to be done at the end of a long answer. */
export class WrittenJson {
  readonly parts: readonly string[];

  constructor(parts: readonly string[]) {
    this.parts = parts;
  }
}

export const written = (value: unknown): WrittenJson => new WrittenJson([JSON.stringify(value)]);

/** Items that are written as one. */
const ITEMS = 256;

/** Items of a list, written as they come: in a list, many of them stand as one. */
export class WrittenItems {
  readonly #all: WrittenJson[] = [];
  #open: string[] = [];

  push(json: string): void {
    this.#open.push(json);
    if (this.#open.length === ITEMS) this.#join();
  }

  get all(): readonly WrittenJson[] {
    this.#join();
    return this.#all;
  }

  #join(): void {
    if (this.#open.length > 0) this.#all.push(new WrittenJson([this.#open.join(',')]));
    this.#open = [];
  }
}

/** Characters that are one part. */
const CHARACTERS = 4096;

/** JSON of a value of which some is written already, in parts: a long one is never in one piece. */
export function jsonParts(value: unknown): string[] {
  const parts: string[] = [];
  let part = '';
  const add = (text: string): void => {
    part += text;
    if (part.length < CHARACTERS) return;
    parts.push(part);
    part = '';
  };
  const write = (value: unknown): void => {
    const object = asObject(value);
    if (value instanceof WrittenJson) for (const text of value.parts) add(text);
    else if (Array.isArray(value)) {
      for (const [i, each] of value.entries()) {
        add(i === 0 ? '[' : ',');
        write(each);
      }
      add(value.length === 0 ? '[]' : ']');
    } else if (object) {
      const fields = Object.entries(object).filter(([, each]) => each !== undefined);
      for (const [i, [name, each]] of fields.entries()) {
        add(`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
        write(each);
      }
      add(fields.length === 0 ? '{}' : '}');
    } else add(JSON.stringify(value ?? null));
  };
  write(value);
  return [...parts, part];
}

export const jsonOf = (value: unknown): string => jsonParts(value).join('');

/**
 * An object that comes in parts: strings are joined, objects field by field, lists by the `index` of their items, else
 * one after the other. It grows in place: nothing that is there is copied for a part that comes. Parts stay as they are.
 */
export class JoinedFields {
  readonly #fields: Map<string, unknown>;

  constructor(first: Json = {}) {
    this.#fields = new Map(Object.entries(first));
  }

  join(part: Json): this {
    for (const name of Object.keys(part))
      this.#fields.set(name, joined(name, this.#fields.get(name), part[name]));
    return this;
  }

  get whole(): Json {
    return Object.fromEntries([...this.#fields].map(([name, value]) => [name, wholeOf(value)]));
  }
}

/** A list that comes in parts. */
class JoinedList {
  readonly #items: unknown[] = [];
  readonly #places = new Map<number, number>();
  /** Items without an index, since the last that has one. */
  #written = new WrittenItems();

  add(items: readonly unknown[]): this {
    for (const item of items) {
      const object = asObject(item);
      if (object && typeof object.index === 'number') this.#join(object.index, object);
      else this.#written.push(JSON.stringify(item));
    }
    return this;
  }

  get whole(): readonly unknown[] {
    const items = [...this.#items, ...this.#written.all];
    return items.map((item) => (item instanceof WrittenJson ? item : joinedFields(item)?.whole));
  }

  #join(index: number, object: Json): void {
    const place = this.#places.get(index);
    if (place !== undefined) {
      this.#items[place] = joinedFields(this.#items[place])?.join(object);
      return;
    }
    for (const each of this.#written.all) this.#items.push(each);
    this.#written = new WrittenItems();
    this.#places.set(index, this.#items.push(object) - 1);
  }
}

function joined(name: string, before: unknown, after: unknown): unknown {
  if (before === undefined || before === null)
    return Array.isArray(after) ? new JoinedList().add(after) : after;
  if (after === undefined || after === null) return before;
  if (WHOLE.has(name)) return after;
  if (typeof before === 'string' && typeof after === 'string') return before + after;
  if (Array.isArray(after)) return joinedList(before)?.add(after) ?? after;
  const object = asObject(after);
  return (object && joinedFields(before)?.join(object)) ?? after;
}

function joinedFields(value: unknown): JoinedFields | null {
  if (value instanceof JoinedFields) return value;
  const object = value instanceof JoinedList ? null : asObject(value);
  return object && new JoinedFields(object);
}

function joinedList(value: unknown): JoinedList | null {
  if (value instanceof JoinedList) return value;
  return Array.isArray(value) ? new JoinedList().add(value) : null;
}

function wholeOf(value: unknown): unknown {
  if (value instanceof JoinedFields || value instanceof JoinedList) return value.whole;
  return typeof value === 'object' && value !== null ? written(value) : value;
}
