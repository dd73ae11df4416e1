import { jsonText } from '../requests/exact-numbers.js';
import { asObject, type Json } from '../upstream/wire/wire-json.js';

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

/** Lists by their names, such as those of log-probabilities, written as they come. */
export class WrittenLists {
  readonly #fields = new Map<string, unknown>();

  add(fields: Json): void {
    for (const [name, items] of Object.entries(fields)) {
      const before = this.#fields.get(name);
      const list = before instanceof WrittenItems ? before : new WrittenItems();
      if (Array.isArray(items)) for (const item of items) list.push(jsonText(item));
      if (list !== before) this.#fields.set(name, Array.isArray(items) ? list : items);
    }
  }

  get whole(): Json {
    const fields = [...this.#fields];
    return Object.fromEntries(
      fields.map(([name, value]) => [name, value instanceof WrittenItems ? value.all : value]),
    );
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
        add(`${i === 0 ? '{' : ','}${jsonText(name)}:`);
        write(each);
      }
      add(fields.length === 0 ? '{}' : '}');
    } else add(jsonText(value ?? null));
  };
  write(value);
  return [...parts, part];
}

export const jsonOf = (value: unknown): string => jsonParts(value).join('');
