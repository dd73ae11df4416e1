import { asNumber, asObject, asText, type Json, MAX_ENTRIES, tooMany } from '../upstream/wire/json.js';
import { comesInParts, isLabel, isSaid, labelsOf, pieceOf } from '../upstream/wire/text-fields.js';
import { JoinedText } from './joined-text.js';
import { jsonOf, WrittenItems, WrittenJson, written } from './written-json.js';

/** Whether the strings of an object are text in parts, or the last of each counts. */
export type Strings = 'text' | 'last';

/**
 * An object that comes in parts, such as a message: its strings are {@link JoinedText text}, but for labels, of which
 * the last counts; objects are joined field by field, and lists as {@link JoinedList} says. An empty string, an empty
 * list or `null` changes nothing. It grows in place: nothing that is there is copied for a part that comes. Parts stay
 * as they are.
 */
export class JoinedFields {
  readonly #fields: Map<string, unknown>;
  readonly #strings: Strings;

  constructor(first: Json = {}, strings: Strings = 'text') {
    this.#fields = new Map(Object.entries(first));
    this.#strings = strings;
  }

  join(part: Json): this {
    for (const name of Object.keys(part))
      this.#fields.set(name, joined(name, this.#fields.get(name), part[name], this.#strings));
    return this;
  }

  get whole(): Json {
    return Object.fromEntries([...this.#fields].map(([name, value]) => [name, wholeOf(value)]));
  }
}

function joined(name: string, before: unknown, after: unknown, strings: Strings): unknown {
  if (!isSaid(after)) return before ?? after;
  if (typeof after === 'string') return strings === 'text' ? joinedText(name, before, after) : after;
  if (Array.isArray(after)) return listFor(name, before, after).add(after);
  const object = asObject(after);
  if (!object) return after;
  if (Object.hasOwn(ARGUMENTS, name))
    return (before instanceof JoinedCall ? before : new JoinedCall(name)).join(object);
  return joinedFields(before, strings)?.join(object) ?? after;
}

function joinedText(name: string, before: unknown, after: string): unknown {
  if (before instanceof JoinedList && before.isContent) return before.add([textPart(after)]);
  if (isLabel(name)) return after;
  if (before instanceof JoinedText) return before.add(after);
  if (typeof before !== 'string' || before === '') return after;
  return comesInParts(name) ? before + after : new JoinedText(before).add(after);
}

const textPart = (text: string): Json => ({ type: 'text', text });

function listFor(name: string, before: unknown, after: readonly unknown[]): JoinedCalls | JoinedList {
  if (name === 'tool_calls') return before instanceof JoinedCalls ? before : new JoinedCalls();
  if (before instanceof JoinedList) return before;
  const list = new JoinedList();
  if (Array.isArray(before)) return list.add(before);
  // A text that goes on with parts of other types is the first of them.
  return typeof before === 'string' && before !== '' && isContent(after)
    ? list.add([textPart(before)])
    : list;
}

function joinedFields(value: unknown, strings: Strings): JoinedFields | null {
  if (value instanceof JoinedFields) return value;
  const object = value instanceof JoinedList || value instanceof JoinedText ? null : asObject(value);
  return object && new JoinedFields(object, strings);
}

function wholeOf(value: unknown): unknown {
  if (value instanceof JoinedFields || value instanceof JoinedList || value instanceof JoinedCalls)
    return value.whole;
  if (value instanceof JoinedText) return value.whole;
  return typeof value === 'object' && value !== null ? written(value) : value;
}

const isContent = (items: readonly unknown[]): boolean =>
  items.some((item) => typeof asObject(item)?.type === 'string');

/** What clients read of a call as a string, and what it is for a call without any. */
const ARGUMENTS: Readonly<Record<string, readonly [string, string]>> = {
  function: ['arguments', '{}'],
  function_call: ['arguments', '{}'],
  custom: ['input', ''],
};

/** What is called, with its arguments. */
class JoinedCall extends JoinedFields {
  readonly #arguments: readonly [string, string] | undefined;

  constructor(name: string) {
    super();
    this.#arguments = ARGUMENTS[name];
  }

  override get whole(): Json {
    const fields = super.whole;
    const [name = '', none] = this.#arguments ?? [];
    return !isSaid(fields.name) || isSaid(fields[name]) ? fields : { ...fields, [name]: none };
  }
}

/** An item that parts may be added to. */
interface Open {
  readonly fields: JoinedFields;
  readonly labels: Map<string, string>;
  /** Whether it has an `index` or `id`. */
  readonly keyed: boolean;
  /** Name of the field with its text. */
  text: string | null;
}

/**
 * A list that comes in parts. An item goes on with the one that has its `index` or `id`; without these with the last
 * one, if both are {@link pieceOf pieces} of one type, in mentions of their own: so the parts of a content keep their
 * order. Other objects follow one another, and what an earlier mention had is said again. A list of strings or numbers
 * is joined as {@link JoinedText a text} is.
 */
class JoinedList {
  /** Whether its items have types, as those of a content do. */
  isContent = false;
  readonly #items: (Open | WrittenItems)[] = [];
  /** Items with an `index` or `id`: the last of each. */
  readonly #byKey = new Map<string | number, Open>();
  #keyed = 0;
  #last: Open | null = null;
  /** JSON of objects that were whole when they came. */
  readonly #said = new Set<string>();
  /** JSON of a list of strings or numbers. */
  #plain: JoinedText | null = null;

  add(items: readonly unknown[]): this {
    this.isContent ||= isContent(items);
    if (this.#items.length === 0 && items.every((item) => typeof item !== 'object' || item === null)) {
      const all = items.map((item) => `${JSON.stringify(item)},`).join('');
      this.#plain = this.#plain?.add(all) ?? new JoinedText(all);
      return this;
    }
    if (this.#plain) this.#write(this.#plain.whole.slice(0, -1));
    this.#plain = null;
    const news: string[] = [];
    for (const [i, item] of items.entries()) {
      const object = asObject(item);
      const json = object && this.#join(object, i > 0) ? null : JSON.stringify(item);
      if (json === null || (object && this.#said.has(json))) continue;
      this.#close();
      this.#write(json);
      if (object) news.push(json);
    }
    for (const json of news) this.#said.add(json);
    return this;
  }

  get whole(): readonly unknown[] | WrittenJson {
    if (this.#plain) return new WrittenJson([`[${this.#plain.whole.slice(0, -1)}]`]);
    return this.#items.flatMap((item): readonly unknown[] =>
      item instanceof WrittenItems ? item.all : [item.fields.whole],
    );
  }

  /**
   * Joins what is part of an item, or what parts may be added to.
   * @param again whether it follows another of the same mention
   */
  #join(object: Json, again: boolean): boolean {
    const key = asNumber(object.index) ?? (asText(object.id) || null);
    const piece = pieceOf(object);
    const labels = labelsOf(object);
    const text = piece?.text ?? null;
    const known = key !== null ? this.#byKey.get(key) : piece && !again ? this.#last : null;
    if (known && (key === null ? goesOn(known, labels, text) : isSame(known, labels))) {
      for (const [name, label] of labels) known.labels.set(name, label);
      known.text ??= text;
      known.fields.join(object);
      this.#last = known;
      return true;
    }
    if (key === null && !piece) return false;
    this.#close();
    const item: Open = { fields: new JoinedFields().join(object), labels, keyed: key !== null, text };
    this.#last = item;
    this.#items.push(item);
    if (key !== null) {
      this.#byKey.set(key, item);
      this.#keyed += 1;
      if (this.#keyed > MAX_ENTRIES) throw tooMany(`${MAX_ENTRIES} items with an index or id`);
    }
    return true;
  }

  /** Writes the last item, if nothing can be added to it any more. */
  #close(): void {
    const last = this.#last;
    this.#last = null;
    if (!last || last.keyed) return;
    this.#items.pop();
    this.#write(jsonOf(last.fields.whole));
  }

  #write(json: string): void {
    const last = this.#items.at(-1);
    const items = last instanceof WrittenItems ? last : new WrittenItems();
    if (items !== last) this.#items.push(items);
    items.push(json);
  }
}

type Labels = ReadonlyMap<string, string>;

/** What has another id or type is another item. */
const isSame = (known: Open, labels: Labels): boolean =>
  ['id', 'type'].every((name) => isLike(known.labels.get(name), labels.get(name)));

const isLike = (known: string | undefined, label: string | undefined): boolean =>
  known === undefined || label === undefined || known === label;

/** After the signature of a text no more of it follows. */
function goesOn(known: Open, labels: Labels, text: string | null): boolean {
  const signed = (name: string): boolean => text !== null && name.endsWith('signature');
  return (
    (known.text === null || text === null || known.text === text) &&
    [...known.labels].every(([name, label]) =>
      signed(name) ? labels.get(name) === label : isLike(label, labels.get(name)),
    )
  );
}

interface Call {
  readonly index: number | null;
  /** Empty before it comes. */
  id: string;
  name: JoinedText | null;
  /** Its arguments so far: whether there are any, and whether an object may have ended. */
  begun: boolean;
  ended: boolean;
  readonly fields: JoinedFields;
}

/**
 * The tool calls of a message, which come in parts. A part belongs to the last call with its index; without an index to
 * the call with its id, else to the last one. Some servers number all calls 0: a part with another id is another call;
 * so is one without an id that has a name where the arguments of another have begun, or in the same chunk a name again.
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
      const called = asObject(fields.function) ?? asObject(fields.custom) ?? {};
      const said: Said = {
        id: asText(fields.id) ?? '',
        name: asText(called.name) ?? '',
        text: asText(called.arguments ?? called.input) ?? '',
      };
      const known = this.#last(index, said.id);
      const call = known && !isAnother(known, said, written.has(known)) ? known : this.#begin(index);
      call.id ||= said.id;
      // A name may come in parts, before the arguments.
      if (!call.begun && said.name !== '') call.name = call.name?.add(said.name) ?? new JoinedText(said.name);
      call.begun ||= said.text !== '';
      if (said.text !== '') call.ended = said.text.trimEnd().endsWith('}');
      call.fields.join(fields);
      if (said.id !== '') this.#byId.set(said.id, call);
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
    if (this.#calls.length === MAX_ENTRIES) throw tooMany(`${MAX_ENTRIES} tool calls`);
    const call: Call = { index, id: '', name: null, begun: false, ended: false, fields: new JoinedFields() };
    this.#calls.push(call);
    if (index !== null) this.#byIndex.set(index, call);
    return call;
  }

  #last(index: number | null, id: string): Call | undefined {
    if (index !== null) return this.#byIndex.get(index);
    return (id !== '' ? this.#byId.get(id) : undefined) ?? this.#calls.at(-1);
  }
}

/** What a part of a call says. */
interface Said {
  readonly id: string;
  readonly name: string;
  /** Of its arguments. */
  readonly text: string;
}

/** @param again whether a part of the call was in the same chunk */
function isAnother(call: Call, { id, name, text }: Said, again: boolean): boolean {
  if (call.id !== '' && id !== '') return call.id !== id;
  if (!call.name || name === '') return false;
  if (again) return true;
  // `}{` is nowhere but within a string of the arguments.
  return call.begun && (call.name.whole !== name || (call.ended && text.trimStart().startsWith('{')));
}
