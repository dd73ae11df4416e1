import { comesInParts, isLabel, isSaid } from '../upstream/wire/text-fields.js';
import { asObject, type Json } from '../upstream/wire/wire-json.js';
import { JoinedCalls } from './joined-calls.js';
import { isContent, JoinedList } from './joined-list.js';
import { JoinedText } from './joined-text.js';
import { written } from './written-json.js';

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

/** Items of lists have their text as messages have. */
const begin = (): JoinedFields => new JoinedFields();

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
  if (name === 'tool_calls') return before instanceof JoinedCalls ? before : new JoinedCalls(begin);
  if (before instanceof JoinedList) return before;
  const list = new JoinedList(begin);
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
