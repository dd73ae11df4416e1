import { statedIn } from './solution.js';

/** From, and up to but without; in UTF-16 code units, as `slice` counts. */
export type Span = readonly [start: number, end: number];

/** What a line of a response states, and where the line is. */
export interface Fact {
  readonly text: string;
  readonly span: Span;
}

export interface Extraction {
  readonly facts: readonly Fact[];
  /** `null` where the response ends without one. */
  readonly answer: string | null;
  /** To the end of the response, with the newlines that it may end in. */
  readonly lastLine: Span;
}

/** The checkable facts of a response, at most one a line: lines and not steps (src/stream). */
export function extractFacts(response: string): Extraction {
  const facts: Fact[] = [];
  let start = 0;
  for (const line of response.split('\n')) {
    const text = statedIn(line);
    if (text !== null) facts.push({ text, span: [start, start + line.length] });
    start += line.length + 1;
  }
  const [, answer = null] = ANSWER.exec(response.replace(/\p{White_Space}+$/u, '')) ?? [];
  const lastLine = response.replace(/\n+$/, '').lastIndexOf('\n') + 1;
  return { facts, answer, lastLine: [lastLine, response.length] };
}

const ANSWER = /(?:answer is|Answer:) ([^\n]+?)\.?$/;
