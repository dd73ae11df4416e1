import { asNumber, asObject, asText, MAX_ENTRIES, parseObject, tooMany } from '../upstream/wire/wire-json.js';
import type { JoinedObject } from './joined-list.js';
import { JoinedText } from './joined-text.js';

interface Call {
  readonly index: number | null;
  /** Empty before it comes. */
  id: string;
  name: JoinedText | null;
  /** Its arguments so far: whether there are any, and whether an object may have ended. */
  started: boolean;
  ended: boolean;
  readonly fields: JoinedObject;
}

/**
 * The tool calls of a message, which come in parts. A part belongs to the last call with its index; without an index to
 * the call with its id, else to the last one. Some servers number all calls 0: a part with another id is another call;
 * so is one without an id that has a name where the arguments of another have begun, or in the same chunk a name again.
 */
export class JoinedCalls {
  readonly #calls: Call[] = [];
  /** Items that are no objects. */
  readonly #odd: unknown[] = [];
  /** The last call by index, and calls by id. */
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  readonly #fields: () => JoinedObject;

  /** @param fields those of a call that begins */
  constructor(fields: () => JoinedObject) {
    this.#fields = fields;
  }

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
      if (!call.started && said.name !== '')
        call.name = call.name?.add(said.name) ?? new JoinedText(said.name);
      call.started ||= said.text !== '';
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
    const call: Call = { index, id: '', name: null, started: false, ended: false, fields: this.#fields() };
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
  return call.started && (call.name.whole !== name || (call.ended && parseObject(text) !== null));
}
