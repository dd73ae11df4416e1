import { isSaid } from '../upstream/wire/text-fields.js';
import { asObject, type Json, listOf } from '../upstream/wire/wire-json.js';
import { JoinedFields } from './joined-fields.js';
import { type WrittenJson, WrittenLists, written } from './written-json.js';

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
  readonly #choices = new Map<number, Joined>();
  #usage: Json | null = null;

  /** Adds a chunk. `obfuscation`, which hides the length of a chunk, is not part of a whole completion. */
  add({ choices, usage, obfuscation: _, ...fields }: Json): void {
    for (const [name, value] of Object.entries(fields))
      if (isSaid(value)) this.#fields.set(name, written(value));
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
    const choices = [...this.#choices].sort(([a], [b]) => a - b);
    return choices.map(([index, { own, texts, message, logprobs }]) => {
      const fields: Json = { ...own.whole, ...texts.whole };
      const { finish_reason: reason } = fields;
      return {
        ...fields,
        index,
        message: message.whole,
        logprobs: logprobs?.whole ?? null,
        finish_reason: typeof reason === 'string' ? reason : null,
      };
    });
  }

  /** The message so far, which some servers send beside the delta, is made of the deltas. */
  #choose({ delta, message: _, logprobs, ...fields }: Json): void {
    const index = typeof fields.index === 'number' ? fields.index : 0;
    const known = this.#choices.get(index) ?? {
      own: new JoinedFields({}, 'last'),
      texts: new JoinedFields(),
      message: new JoinedFields(),
      logprobs: null,
    };
    this.#choices.set(index, known);
    const said = asObject(delta) ?? {};
    known.message.join(said);
    // A choice without a delta is one itself, as those of completions are.
    const strings = Object.keys(said).length === 0;
    for (const [name, value] of Object.entries(fields)) {
      const to = strings && typeof value === 'string' ? known.texts : known.own;
      if (isSaid(value)) to.join({ [name]: value });
    }
    const lists = asObject(logprobs);
    if (!lists) return;
    known.logprobs ??= new WrittenLists();
    known.logprobs.add(lists);
  }
}

interface Joined {
  readonly own: JoinedFields;
  readonly texts: JoinedFields;
  readonly message: JoinedFields;
  logprobs: WrittenLists | null;
}
