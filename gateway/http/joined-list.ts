import { jsonText } from '../requests/exact-numbers.js';
import { labelsOf, pieceOf } from '../upstream/wire/text-fields.js';
import { asNumber, asObject, asText, type Json, MAX_ENTRIES, tooMany } from '../upstream/wire/wire-json.js';
import { JoinedText } from './joined-text.js';
import { jsonOf, WrittenItems, WrittenJson } from './written-json.js';

/** An object that comes in parts. */
export interface JoinedObject {
  join(part: Json): unknown;
  readonly whole: Json;
}

/** Whether items have types, as those of a content do. */
export const isContent = (items: readonly unknown[]): boolean =>
  items.some((item) => typeof asObject(item)?.type === 'string');

/** An item that parts may be added to. */
interface Open {
  readonly fields: JoinedObject;
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
export class JoinedList {
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
  readonly #begin: () => JoinedObject;

  /** @param begin an item that parts may be added to */
  constructor(begin: () => JoinedObject) {
    this.#begin = begin;
  }

  add(items: readonly unknown[]): this {
    this.isContent ||= isContent(items);
    if (this.#items.length === 0 && items.every((item) => typeof item !== 'object' || item === null)) {
      const all = items.map((item) => `${jsonText(item)},`).join('');
      this.#plain = this.#plain?.add(all) ?? new JoinedText(all);
      return this;
    }
    if (this.#plain) this.#write(this.#plain.whole.slice(0, -1));
    this.#plain = null;
    const news: string[] = [];
    for (const [i, item] of items.entries()) {
      const object = asObject(item);
      const json = object && this.#join(object, i > 0) ? null : jsonText(item);
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
    if (known && (key === null ? isContinuation(known, labels, text) : isSame(known, labels))) {
      for (const [name, label] of labels) known.labels.set(name, label);
      known.text ??= text;
      known.fields.join(object);
      this.#last = known;
      return true;
    }
    if (key === null && !piece) return false;
    this.#close();
    const item: Open = { fields: this.#begin(), labels, keyed: key !== null, text };
    item.fields.join(object);
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
function isContinuation(known: Open, labels: Labels, text: string | null): boolean {
  const signed = (name: string): boolean => text !== null && name.endsWith('signature');
  return (
    (known.text === null || text === null || known.text === text) &&
    [...known.labels].every(([name, label]) =>
      signed(name) ? labels.get(name) === label : isLike(label, labels.get(name)),
    )
  );
}
