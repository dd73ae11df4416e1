import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { choice } from './draw.js';
import type { Problem } from './problem.js';

const FIRST: readonly string[] = ['First, ', 'To begin, ', 'We start: '];
const NEXT: readonly string[] = ['Then, ', 'Next, ', 'After that, ', 'Now, '];
const ANSWERS: readonly string[] = ['The answer is ', 'So the answer is ', 'Therefore the answer is '];

/** Asks for a solution whose lines open with words; added to a question. */
export const IN_WORDS = ' Explain each step.';

/** The right answer, one fact a line and nothing else. */
export const plainSolution = ({ facts, answer }: Pick<Problem, 'facts' | 'answer'>): string =>
  [...facts.map((fact) => `${fact}.`), `Answer: ${answer}.`].join('\n');

/** The same, with lines that open with words that are drawn: a model can only guess them. */
export function wordedSolution(
  { facts, answer }: Pick<Problem, 'facts' | 'answer'>,
  random: RandomGenerator,
): string {
  const lines = facts.map((fact, i) => `${choice(random, i === 0 ? FIRST : NEXT)}${fact}.`);
  return [...lines, `${choice(random, ANSWERS)}${answer}.`].join('\n');
}

const OPENING = new RegExp(`^(?:${[...FIRST, ...NEXT].join('|')})`);
const ANSWER_LINE = new RegExp(`^(?:Answer: |${ANSWERS.join('|')})`);

/** The fact that a line of a solution states; `null` for an empty line and for the answer's. */
export function statedIn(line: string): string | null {
  if (line.trim() === '' || ANSWER_LINE.test(line)) return null;
  return line.replace(OPENING, '').replace(/\.$/, '');
}
