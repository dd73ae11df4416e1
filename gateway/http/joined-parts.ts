import { jsonText } from '../requests/exact-numbers.js';
import { UpstreamError } from '../upstream/errors.js';
import { asNumber, asObject, asText, type Json, MAX_ENTRIES } from '../upstream/wire/json.js';

/** Fields whose strings come in parts. All other strings are whole at each mention, and many servers repeat them. */
const IN_PARTS: ReadonlySet<string> = new Set([
  ...['content', 'text', 'refusal', 'reasoning', 'reasoning_content', 'thinking', 'summary'],
  ...['thought', 'tool_plan', 'arguments', 'input', 'data', 'transcript'],
]);

/** A value that is JSON already, in parts: so little is left to be done at the end of a long answer. */
export class WrittenJson {
  readonly parts: readonly string[];

  constructor(parts: readonly string[]) {
    this.parts = parts;
  }
}

export const written = (value: unknown): WrittenJson => new WrittenJson([jsonText(value)]);

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
    } else add(jsonText(value ?? null));
  };
  write(value);
  return [...parts, part];
}

export const jsonOf = (value: unknown): string => jsonParts(value).join('');

/**
 * An object that comes in parts: texts are joined, objects field by field, lists by the `index` of their items, else
 * one after the other. An empty string, or `null`, changes nothing. It grows in place: nothing that is there is copied
 * for a part that comes. Parts stay as they are.
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
      else this.#written.push(jsonText(item));
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
  if (name === 'tool_calls' && Array.isArray(after))
    return (before instanceof JoinedCalls ? before : new JoinedCalls()).add(after);
  if (before === undefined || before === null)
    return Array.isArray(after) ? new JoinedList().add(after) : after;
  if (after === undefined || after === null || after === '') return before;
  if (typeof before === 'string' && typeof after === 'string' && IN_PARTS.has(name)) return before + after;
  if (Array.isArray(after)) return joinedList(before)?.add(after) ?? after;
  const object = asObject(after);
  return (object && joinedFields(before)?.join(object)) ?? after;
}

interface Call {
  readonly index: number | null;
  /** Id and name; empty before they come. */
  id: string;
  name: string;
  readonly fields: JoinedFields;
}

/**
 * The tool calls of a message, which come in parts. A part belongs to the last call with its index; without an index to
 * the call with its id, else to the last one. Some servers number all calls 0: a part with another id is another call;
 * so is one without an id that has another name, or in the same chunk a name again.
 */
class JoinedCalls {
  readonly #calls: Call[] = [];
  /** Items that are no objects. */
  readonly #odd: unknown[] = [];
  /** The last call by index, and calls by id. */
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();

  add(parts: readonly unknown[]): this {
    const written = new Set<Call>();
    for (const part of parts) {
      const object = asObject(part);
      if (!object) {
        this.#odd.push(part);
        continue;
      }
      const { index: given, ...fields } = object;
      const index = asNumber(given);
      const id = asText(fields.id) ?? '';
      const name = asText((asObject(fields.function) ?? asObject(fields.custom))?.name) ?? '';
      const known = this.#last(index, id);
      const call =
        known && !isAnother(known, { id, name, again: written.has(known) }) ? known : this.#begin(index);
      call.id ||= id;
      call.name ||= name;
      call.fields.join(fields);
      if (id !== '') this.#byId.set(id, call);
      written.add(call);
    }
    return this;
  }

  /** The calls without their indices, as a message has them. */
  get whole(): readonly unknown[] {
    const calls = this.#calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
    return [...calls.map(({ fields }) => fields.whole), ...this.#odd];
  }

  /** @throws UpstreamError for one too many, whether they have indices or not */
  #begin(index: number | null): Call {
    if (this.#calls.length === MAX_ENTRIES)
      throw new UpstreamError('upstream_error', `the upstream sent more than ${MAX_ENTRIES} tool calls`);
    const call = { index, id: '', name: '', fields: new JoinedFields() };
    this.#calls.push(call);
    if (index !== null) this.#byIndex.set(index, call);
    return call;
  }

  #last(index: number | null, id: string): Call | undefined {
    if (index !== null) return this.#byIndex.get(index);
    return (id !== '' ? this.#byId.get(id) : undefined) ?? this.#calls.at(-1);
  }
}

/** @param part with whether a part of the call was in the same chunk */
function isAnother(
  call: Pick<Call, 'id' | 'name'>,
  { id, name, again }: { readonly id: string; readonly name: string; readonly again: boolean },
): boolean {
  if (call.id !== '' && id !== '') return call.id !== id;
  return call.name !== '' && name !== '' && (again || call.name !== name);
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
  if (value instanceof JoinedFields || value instanceof JoinedList || value instanceof JoinedCalls)
    return value.whole;
  return typeof value === 'object' && value !== null ? written(value) : value;
}
