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

/** Position in the text of a token that is not white space. */
interface Beginning {
  readonly token: number;
  readonly at: number;
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
  /** Index of the next token. */
  #next: number;
  /** Tokens from `#from` on, without white and empty ones. */
  #beginnings: Beginning[] = [];
  /** The first of the empty tokens that came last. */
  #empty: number | null = null;
  /** Steps of the text that have ended, and whose tokens may still come. */
  #ended: TextStep[] = [];
  /** Text of steps without a token of their own. */
  #joined = '';

  constructor({ from = 0, step = 0, mode = 'sentence' }: TokenStepsOptions = {}) {
    this.#segmenter = new StepSegmenter(mode);
    this.#from = this.#next = from;
    this.#step = step;
  }

  /** @returns the steps that are now certain, tokens and all */
  push(text: string): StepSpan[] {
    const white = text.search(/\S/);
    if (white >= 0) {
      const token = white === 0 ? (this.#empty ?? this.#next) : this.#next;
      this.#beginnings.push({ token, at: this.#length + white });
    }
    this.#empty = text === '' ? (this.#empty ?? this.#next) : null;
    this.#next += 1;
    this.#length += text.length;
    for (const step of this.#segmenter.push(text)) this.#ended.push(step);
    return this.#take();
  }

  /** The text ends here. */
  end(): StepSpan[] {
    for (const step of this.#segmenter.end()) this.#ended.push(step);
    const steps = this.#take();
    if (this.#next > this.#from) {
      for (const { text } of this.#ended.splice(0)) this.#joined += text;
      steps.push(this.#close(this.#next));
    }
    return steps;
  }

  #take(): StepSpan[] {
    const steps: StepSpan[] = [];
    for (let step = this.#ended[0]; step; step = this.#ended[0]) {
      const { end, text } = step;
      // If a text has gone on without a token for long, this avoids looking at all beginnings with each step.
      if ((this.#beginnings.at(-1)?.at ?? 0) < end) break;
      const next = this.#beginnings.findIndex(({ at }) => at >= end);
      this.#ended.shift();
      this.#joined += text;
      const to = this.#beginnings[next]?.token;
      if (next > 0 && to !== undefined) {
        this.#beginnings.splice(0, next);
        steps.push(this.#close(to));
      }
    }
    return steps;
  }

  /** @param to one after the last token of the step */
  #close(to: number): StepSpan {
    const span = { step: this.#step, from: this.#from, to, text: this.#joined };
    this.#from = to;
    this.#step += 1;
    this.#joined = '';
    return span;
  }
}
