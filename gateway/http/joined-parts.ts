import { asObject, type Json } from './json.js';

/** Given whole at each mention; other strings come in parts. */
const WHOLE: ReadonlySet<string> = new Set([
  ...['id', 'type', 'name', 'role', 'index', 'format', 'object', 'finish_reason'],
]);

/** A value that is JSON already: so little is left to be done at the end of a long answer. */
export class WrittenJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const written = (value: unknown): WrittenJson => new WrittenJson(JSON.stringify(value));

/** JSON of a value of which parts are written already. */
export function jsonOf(value: unknown): string {
  if (value instanceof WrittenJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  const object = asObject(value);
  if (!object) return JSON.stringify(value ?? null);
  const fields = Object.entries(object).filter(([, each]) => each !== undefined);
  return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${jsonOf(each)}`).join(',')}}`;
}

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

  add(items: readonly unknown[]): this {
    for (const item of items) this.#add(asObject(item), item);
    return this;
  }

  get whole(): readonly unknown[] {
    return this.#items.map((item) => (item instanceof WrittenJson ? item : joinedFields(item)?.whole));
  }

  #add(object: Json | null, item: unknown): void {
    const index = object?.index;
    if (!object || typeof index !== 'number') {
      this.#items.push(written(item));
      return;
    }
    const place = this.#places.get(index);
    if (place === undefined) this.#places.set(index, this.#items.push(object) - 1);
    else this.#items[place] = joinedFields(this.#items[place])?.join(object);
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
