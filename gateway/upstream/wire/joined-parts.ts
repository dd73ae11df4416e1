import { MAX_FIELDS } from '../../requests/request-bounds.js';
import { asObject, type Json, listOf, MAX_ENTRIES, tooMany } from './wire-json.js';

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

  #object(object: Json, lists = true): void {
    for (const name in object) {
      this.#names.add(name);
      const value = object[name];
      if (typeof value !== 'object' || value === null) continue;
      const items = lists ? listOf(value) : [];
      for (const item of items) this.#object(asObject(item) ?? {});
      // Log-probabilities follow one another, and are not joined; some have tokens as names.
      this.#object(asObject(value) ?? {}, lists && name !== 'logprobs');
    }
    if (typeof object.index === 'number') this.#indices.add(object.index);
  }
}
