import type { Json } from '../upstream/wire/wire-json.js';

/**
 * Characters of the fields that each chunk repeats, as JSON. Without the limit a server could make a large
 * answer of few bytes.
 */
const MOST_REPEATED = 512;

/**
 * Fields of an upstream's chunks beside their choices. Some servers say a few of them in every chunk, such as
 * `system_fingerprint`: each chunk from then on repeats them. What does not fit among those is said in the next one.
 */
export class UpstreamFields {
  readonly #repeated = new Map<string, { readonly value: unknown; readonly size: number }>();
  readonly #once = new Map<string, unknown>();
  #size = 0;
  /** Fields of each chunk. */
  #fields: Json = {};

  add(fields: Json): void {
    for (const [name, value] of Object.entries(fields)) {
      this.#size -= this.#repeated.get(name)?.size ?? 0;
      this.#repeated.delete(name);
      this.#once.delete(name);
      const size = JSON.stringify({ [name]: value }).length;
      if (this.#size + size > MOST_REPEATED) {
        this.#once.set(name, value);
        continue;
      }
      this.#repeated.set(name, { value, size });
      this.#size += size;
    }
    this.#fields = Object.fromEntries([...this.#repeated].map(([name, { value }]) => [name, value]));
  }

  /** Fields of the next chunk. */
  take(): Json {
    if (this.#once.size === 0) return this.#fields;
    const fields = { ...this.#fields, ...Object.fromEntries(this.#once) };
    this.#once.clear();
    return fields;
  }
}
