import { asObject, type Json, listOf } from '../upstream/wire/json.js';
import { JoinedFields, type WrittenJson, written } from './joined-parts.js';

/** A choice of a whole completion, as far as chunks have told it. Values within it may be written JSON. */
export interface AssembledChoice {
  readonly index: number;
  readonly message: Json;
  readonly logprobs: Json | null;
  readonly finish_reason: string | null;
  readonly [field: string]: unknown;
}

/** The whole completion that the chunks of one are parts of (OpenAI's API reference, "Streaming"), as they come. */
export class Assembly {
  readonly #fields = new Map<string, WrittenJson>();
  readonly #choices = new Map<number, JoinedFields>();
  #usage: Json | null = null;

  /** Adds a chunk. `obfuscation`, which hides the length of a chunk, is not part of a whole completion. */
  add({ choices, usage, obfuscation: _, ...fields }: Json): void {
    for (const [name, value] of Object.entries(fields))
      if (isGiven(value)) this.#fields.set(name, written(value));
    this.#usage = asObject(usage) ?? this.#usage;
    for (const each of listOf(choices)) {
      const choice = asObject(each);
      if (choice) this.#choose(choice);
    }
  }

  /** Fields of the completion itself, without its choices and usage: the last value of each. */
  get fields(): Json {
    return Object.fromEntries(this.#fields);
  }

  get usage(): Json | null {
    return this.#usage;
  }

  /** Choices in the order of their indices. */
  get choices(): readonly AssembledChoice[] {
    return [...this.#choices]
      .sort(([a], [b]) => a - b)
      .map(([index, fields]) => {
        const { message, logprobs, finish_reason: reason, ...rest } = fields.whole;
        return {
          ...rest,
          index,
          message: asObject(message) ?? {},
          logprobs: asObject(logprobs),
          finish_reason: typeof reason === 'string' ? reason : null,
        };
      });
  }

  #choose({ delta, ...fields }: Json): void {
    const index = typeof fields.index === 'number' ? fields.index : 0;
    const given = Object.entries(fields).filter(([, value]) => isGiven(value));
    const known = this.#choices.get(index) ?? new JoinedFields({ message: new JoinedFields() });
    const part = { ...Object.fromEntries(given), index, message: asObject(delta) ?? {} };
    this.#choices.set(index, known.join(part));
  }
}

const isGiven = (value: unknown): boolean => value !== null && value !== undefined;
