import { isCloser, isFullStop, isSpace, isStarter, isTerminator } from './sentence-breaks.js';
import { type PartOf, samePart } from './text-part.js';

/**
 * Tells which tokens may begin a step, from the text so far: all that {@link TokenSteps} lets one begin with,
 * save where a step is cut for its length, and some more (after "Dr.", or in a formula of several lines). A
 * scorer that works in blocks of tokens can so end them where steps end.
 *
 * It is not `StepSegmenter`: that says where a step ended once later text has made it certain, this one must
 * answer before the next token is scored. Both know the same characters (`sentence-breaks.ts`).
 *
 * Give it every token's text in order. What it remembers does not grow.
 *
 * @example
 * const aligner = new StepAligner();
 * ['It', ' is', ' so', '.', ' The', ' rest'].map((text) => aligner.begins(text)); // true for 'It' and ' The'
 */
export class StepAligner {
  #first = true;
  /** A break may lie after the first character of the last token that was not white. */
  #passed = false;
  /** The last character other than white space ended a sentence. */
  #ended = false;
  /** The sentence ended in a script that needs no space after it. */
  #fullStop = false;
  /** White space has followed it, with a newline. */
  #space = false;
  #newline = false;

  /** @param text of the next token */
  begins(text: string): boolean {
    // An empty token belongs to a character that the next one completes.
    let begins = this.#first || (text === '' && this.#mayFollow());
    let white = true;
    this.#first = false;
    for (const char of text) {
      const breaks = this.#read(char);
      this.#passed ||= breaks;
      if (white && !isSpace(char)) {
        white = false;
        begins ||= this.#passed;
        this.#passed = false;
      }
    }
    return begins;
  }

  #mayFollow(): boolean {
    return this.#passed || this.#newline || (this.#ended && (this.#space || this.#fullStop));
  }

  /** @returns whether a step may begin with the character */
  #read(char: string): boolean {
    if (isSpace(char)) {
      this.#space = true;
      this.#newline ||= char === '\n';
      return false;
    }
    const ending = isTerminator(char) || isFullStop(char);
    const closes = isCloser(char) && this.#ended && !this.#space;
    const breaks = this.#space
      ? this.#newline || (this.#ended && (this.#fullStop || isStarter(char)))
      : this.#fullStop && !closes && !ending;
    this.#fullStop = isFullStop(char) || (this.#fullStop && !this.#space && (closes || ending));
    this.#ended = ending || closes;
    this.#space = this.#newline = false;
    return breaks;
  }
}

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
