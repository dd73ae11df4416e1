import { type StepMode, StepSegmenter, type TextStep } from './step-segmenter.js';

/** Tokens `from` to `to − 1` of the response. */
export interface StepSpan {
  /** Counts the steps of the response from 0. */
  readonly step: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface TokenStepsOptions {
  /** Index of the first token; 0 by default. A step begins there, whatever stood before. */
  readonly from?: number;
  /** Number of the first step; 0 by default. */
  readonly step?: number;
  readonly mode?: StepMode;
}

interface PendingToken {
  /** Where in the text its first character is that is not white; `null` without one. */
  at: number | null;
  readonly empty: boolean;
}

/**
 * The steps of a text that comes in tokens. A token belongs to the step that holds its first character that is not
 * white space; a white one to the step of the token before it, leading ones to the first step. An empty token holds
 * the first bytes of a character that a later token completes: it belongs where that character does. A step in which
 * no token begins is joined to the next, or to the last if there is none.
 *
 * @example
 * const steps = new TokenSteps();
 * for (const token of tokens) console.log(steps.push(token.text));
 * console.log(steps.end());
 */
export class TokenSteps {
  readonly #segmenter: StepSegmenter;
  #from: number;
  #step: number;
  /** Length of the text so far. */
  #length = 0;
  /** Tokens from `#from` on. */
  #tokens: PendingToken[] = [];
  /** Steps of the text that have ended, and whose tokens may still come. */
  #ended: TextStep[] = [];
  /** Text of steps without a token of their own. */
  #joined = '';

  constructor({ from = 0, step = 0, mode = 'sentence' }: TokenStepsOptions = {}) {
    this.#segmenter = new StepSegmenter(mode);
    this.#from = from;
    this.#step = step;
  }

  /** @returns the steps that are now certain, tokens and all */
  push(text: string): StepSpan[] {
    const white = text.search(/\S/);
    const at = white < 0 ? null : this.#length + white;
    if (white === 0) {
      for (let i = this.#tokens.length - 1; this.#tokens[i]?.empty; i--) this.#tokens[i]!.at = at;
    }
    this.#tokens.push({ at, empty: text === '' });
    this.#length += text.length;
    for (const step of this.#segmenter.push(text)) this.#ended.push(step);
    return this.#take();
  }

  /** The text ends here. */
  end(): StepSpan[] {
    for (const step of this.#segmenter.end()) this.#ended.push(step);
    const steps = this.#take();
    if (this.#tokens.length > 0) {
      for (const { text } of this.#ended.splice(0)) this.#joined += text;
      steps.push(this.#close(this.#tokens.length));
    }
    return steps;
  }

  #take(): StepSpan[] {
    const steps: StepSpan[] = [];
    for (let step = this.#ended[0]; step; step = this.#ended[0]) {
      const { end, text } = step;
      const next = this.#tokens.findIndex(({ at }) => at !== null && at >= end);
      if (next < 0) break;
      this.#ended.shift();
      this.#joined += text;
      const own = this.#tokens.slice(0, next).some(({ at }) => at !== null);
      if (own) steps.push(this.#close(next));
    }
    return steps;
  }

  #close(tokens: number): StepSpan {
    const from = this.#from;
    const span = { step: this.#step, from, to: from + tokens, text: this.#joined };
    this.#tokens.splice(0, tokens);
    this.#from = span.to;
    this.#step += 1;
    this.#joined = '';
    return span;
  }
}
