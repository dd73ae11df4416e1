import type { TokenEvent, Unscored } from '../../../src/stream/events.js';
import { kindOf } from '../wire/text-fields.js';
import { asList, asObject, asText, type Json, listOf } from '../wire/wire-json.js';

/** A part is looked for in so many characters before it: parsers hold back no more. */
const WINDOW = 65_536;

/** Names and places, which the model does not write. */
const LABELS: ReadonlySet<string> = new Set(['id', 'index', 'type', 'format']);

/**
 * Text of the tokens, to check parts beside the text: a tool call or reasoning that is not found in it was
 * written by tokens that were not reported, whatever ids and log-probabilities come with it.
 */
export class ReportedParts {
  #text = '';

  wrote({ text }: Pick<TokenEvent, 'text'>): void {
    this.#text += essential(text);
    if (this.#text.length > 2 * WINDOW) this.#text = this.#text.slice(-WINDOW);
  }

  /** Parts of a chunk that are in no token. */
  unscoredIn({ choices }: Json): readonly Unscored[] {
    const deltas = listOf(choices).flatMap((choice) =>
      Object.entries(asObject(asObject(choice)?.delta) ?? {}),
    );
    return deltas.flatMap(([name, value]) => {
      const kind = name === 'content' ? name : kindOf(name, value);
      return kind === null || this.#tells(value) ? [] : kind;
    });
  }

  #tells(value: unknown): boolean {
    const text = asText(value);
    if (text !== null) return this.#text.includes(essential(text));
    const list = asList(value);
    if (list) return list.every((each) => this.#tells(each));
    const fields = Object.entries(asObject(value) ?? {});
    return fields.every(([name, field]) => LABELS.has(name) || this.#tells(field));
  }
}

/** Parsers write JSON anew: with other spaces, quotes and escapes than the model. */
const essential = (text: string): string => text.replaceAll(/[\s"'\\]/g, '');
