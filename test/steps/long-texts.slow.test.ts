import { expect, it } from 'vitest';
import { extractFacts } from '#bench/tasks/facts.js';
import { finalAnswer } from '#src/answers/final-answer.js';
import { stepContent } from '#src/steps/step-content.js';
import { TokenSteps } from '#src/steps/token-steps.js';
import { growthOf, MOST_GROWTH } from '../support/growth.js';

/** Whoever asks a model chooses what it writes. */
const RUNS = [
  ' ',
  '\t\n',
  '0',
  '1,',
  '1.',
  '1 ',
  'a',
  'A.',
  'a b',
  '- ',
  '(1) ',
  '*',
  '>',
  '. ',
  '"',
  '\\boxed{',
  '```',
  '{"',
  '[',
];
const RUN_OF_ANSWERS = 'The answer is ';

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  finalAnswer,
  stepContent,
  extractFacts,
  steps: (text) => {
    const steps = new TokenSteps();
    for (let at = 0; at < text.length; at += 4) steps.push(text.slice(at, at + 4));
    steps.end();
  },
};

it.each(Object.keys(READERS))('%s takes time in proportion to a text', async (name) => {
  for (const run of [...RUNS, RUN_OF_ANSWERS]) {
    const read = (size: number) => READERS[name]?.(`Answer: ${run.repeat(size / run.length)}\0`);
    expect(await growthOf(read, 4000, 2), JSON.stringify(run)).toBeLessThan(MOST_GROWTH);
  }
});
