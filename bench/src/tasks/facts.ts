import type { Span } from '../steps/first-wrong-step.js';
import { statedIn } from './solution.js';

/** Statement of a line of a response, and the position of the line. */
export interface Fact {
  readonly text: string;
  readonly span: Span;
}

export interface Extraction {
  readonly facts: readonly Fact[];
  /** `null` where the response ends without one. */
  readonly answer: string | null;
  /** Reaches to the end of the response, including trailing newlines. */
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
  const trimmed = response.replace(/(?<!\p{White_Space})\p{White_Space}+$/u, '');
  const [, answer = null] = ANSWER.exec(trimmed.slice(trimmed.lastIndexOf('\n') + 1)) ?? [];
  const lastLine = response.replace(/(?<!\n)\n+$/, '').lastIndexOf('\n') + 1;
  return { facts, answer, lastLine: [lastLine, response.length] };
}

const ANSWER = /(?:answer is|Answer:) (.+?)\.?$/s;
