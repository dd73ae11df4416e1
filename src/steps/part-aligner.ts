import { type PartOf, samePart } from './part.js';
import { StepAligner } from './step-aligner.js';

/**
 * A {@link StepAligner} for each part of an answer: a step may begin where a part does, and within a tool call none
 * does.
 *
 * @example
 * const aligner = new PartAligner();
 * aligner.begins('Hm', { part: 'reasoning' }); // true
 * aligner.begins('Yes', {}); // true
 */
export class PartAligner {
  #aligner = new StepAligner();
  #last: PartOf | null = null;

  /** @param text of the next token */
  begins(text: string, token: PartOf): boolean {
    const first = this.#last === null || !samePart(this.#last, token);
    if (first) this.#aligner = new StepAligner();
    this.#last = token;
    return token.part === 'tool_calls' ? first : this.#aligner.begins(text);
  }
}
