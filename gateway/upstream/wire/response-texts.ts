import { asObject, asText, type Json, listOf } from './json.js';

/**
 * The texts of a response, which its deltas bring and later events repeat (OpenAI's API reference, "Responses",
 * "Streaming events"). A text that no delta brought is not scored.
 */
export class ResponseTexts {
  readonly #texts = new Map<string, string>();

  add({ item_id, content_index, delta }: Json): void {
    const place = `${asText(item_id)}/${String(content_index)}`;
    this.#texts.set(place, `${this.#texts.get(place) ?? ''}${asText(delta) ?? ''}`);
  }

  /** Whether an event tells no text but those. */
  tells({ type, text, part, item, response }: Json): boolean {
    if (type === 'response.output_text.done' && !this.#has(text)) return false;
    const items = listOf(asObject(response)?.output);
    const contents = [item, ...items].flatMap((each) => listOf(asObject(each)?.content));
    return [part, ...contents].every((each) => {
      const { type = 'output_text', text = '' } = asObject(each) ?? {};
      return type !== 'output_text' || this.#has(text);
    });
  }

  #has(text: unknown): boolean {
    return text === '' || [...this.#texts.values()].some((each) => each === text);
  }
}
