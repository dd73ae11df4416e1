import { MAX_FIELDS } from '../../requests/json-bounds.js';
import { UpstreamError } from '../errors.js';
import { asList, asObject, type Json, listOf, MAX_ENTRIES } from './json.js';

/**
 * Counts the keys by which the parts of an answer are joined: names of fields, and the `index` of choices and
 * tool calls. A reader that joins them keeps each, in whichever chunk it comes, so that an answer may have no
 * more of them than one chunk.
 */
export class JoinedParts {
  readonly #names = new Set<string>();
  readonly #indices = new Set<number>();

  /** @throws UpstreamError for one too many */
  add(chunk: Json): void {
    // Fields beside the choices are not joined: each replaces the one before.
    for (const name in chunk) this.#names.add(name);
    for (const choice of listOf(chunk.choices)) this.#object(asObject(choice) ?? {});
    if (this.#names.size > MAX_FIELDS) throw tooMany(`${MAX_FIELDS} names of fields`);
    if (this.#indices.size > MAX_ENTRIES) throw tooMany(`${MAX_ENTRIES} choices or tool calls`);
  }

  #object(object: Json): void {
    for (const name in object) {
      this.#names.add(name);
      const value = object[name];
      if (typeof value !== 'object' || value === null) continue;
      const list = asList(value);
      if (list) this.#items(list);
      else this.#object(asObject(value) ?? {});
    }
    if (typeof object.index === 'number') this.#indices.add(object.index);
  }

  /** Items without an index follow one another, and are not joined. */
  #items(list: readonly unknown[]): void {
    for (const item of list) {
      const object = asObject(item);
      if (typeof object?.index === 'number') this.#object(object);
    }
  }
}

const tooMany = (what: string) =>
  new UpstreamError('upstream_error', `the upstream sent more than ${what} in one answer`);
