import { HEADINGS } from './navigate.js';
import type { FirstTask, Task } from './problem.js';
import { COLORS } from './shuffled-objects.js';
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

/**
 * The checkable facts of a response, at most one a line: lines and not steps (src/stream), as the reference counts.
 * Patterns are those of the reference, which is Python: `\d` and `\b` know all scripts there, and
 * `.` takes everything but a newline.
 */
export function extractFacts(task: Task, response: string): Extraction {
  const facts: Fact[] = [];
  let start = 0;
  for (const line of response.split('\n')) {
    const text = isFirst(task) ? factOf[task](line) : statedIn(line);
    if (text !== null) facts.push({ text, span: [start, start + line.length] });
    start += line.length + 1;
  }
  const [, answer = null] = ANSWER.exec(response.replace(/\p{White_Space}+$/u, '')) ?? [];
  const lastLine = response.replace(/\n+$/, '').lastIndexOf('\n') + 1;
  return { facts, answer, lastLine: [lastLine, response.length] };
}

const ANSWER = /(?:answer is|Answer:) ([^\n]+?)\.?$/;
const EQUATION = /-?\p{Nd}+ [-+*] \p{Nd}+ = -?\p{Nd}+/u;
const HELD = new RegExp(`([A-Z][a-z]+) (${COLORS.join('|')})(?![\\p{L}\\p{N}_])`, 'gu');
const CLAIM = /([A-Z][a-z]+) (tells the truth|lies)\.$/;
const POSITION = new RegExp(`\\(-?\\p{Nd}+, -?\\p{Nd}+\\) (${HEADINGS.join('|')})`, 'u');

const equation = (line: string): string | null => EQUATION.exec(line)?.[0] ?? null;

/** The fact that a line of the first model states. */
const factOf: Readonly<Record<FirstTask, (line: string) => string | null>> = {
  word_problem: equation,
  arithmetic: equation,
  shuffled_objects: (line) => {
    const held = Array.from(line.matchAll(HELD), ([pair]) => pair);
    return held.length > 1 ? held.join(', ') : null;
  },
  web_of_lies: (line) => {
    const [, name, claim] = CLAIM.exec(line) ?? [];
    return name ? `${name} ${claim === 'lies' ? 'lie' : 'truth'}` : null;
  },
  navigate: (line) => POSITION.exec(line)?.[0] ?? null,
};

const isFirst = (task: Task): task is FirstTask => task in factOf;
