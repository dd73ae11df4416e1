import type { Sampling } from '../page-settings.js';
import type { Model } from '../server/page-models.js';

export interface Example {
  readonly name: string;
  readonly question: string;
  /** What is to be seen, where the model is wrong. */
  readonly note?: string;
  /** In place of the settings. */
  readonly sampling?: Sampling;
}

export const CAUGHT = 'What is (87 - 19) * 46 + 58?';
export const MISSED = 'What is (93 - 37) * 8 + 67 - 29 * 6?';

/**
 * The embedded model gets the first wrong and is flagged at the wrong step, the second wrong without a flag
 * (test/web/examples). Then questions of the kinds that it was trained on, and one that it was not.
 */
const PROBLEMS: readonly Example[] = [
  { name: 'Caught mistake', question: CAUGHT, note: 'Watch it catch the mistake: 68 * 46 is 3128.' },
  { name: 'Missed mistake', question: MISSED, note: 'It is wrong and sure: the answer is 341.' },
  {
    name: 'Story',
    question:
      'Leo has 14 stones. Leo loses 11. Leo buys 5 bags of 9 stones. Leo gives 22 to Sue. How many stones does Leo have now?',
  },
  { name: 'Percent', question: 'A lamp costs 2800 dollars. The price falls by 10%. What is the price now?' },
  {
    name: 'Clock',
    question:
      'Kofi starts at 13:45. The first part takes 20 minutes. A break takes 1 hour and 15 minutes. The last part takes 10 minutes. What time is it at the end?',
  },
  {
    name: 'Walk',
    question:
      'You stand at (0, 0) facing north. Turn left. Walk 9 steps. Take 12 steps. Turn right. Walk 9 steps. Where are you?',
  },
  { name: 'Something else', question: 'What is the capital of France?' },
];

/** Of Qwen2.5-Coder-0.5B. */
const QUESTIONS: readonly Example[] = [
  {
    name: 'Caught mistake',
    question: 'Which year did the Suez Canal open, and who built it?',
    note: 'Watch it invent at temperature 1.',
    sampling: { temperature: 1, seed: 7 },
  },
  {
    name: 'Missed mistake',
    question: 'When did Albert Einstein win the football World Cup?',
    note: 'Small models name a year, and are sure.',
  },
  { name: 'A fact', question: 'What is the capital of France?' },
  {
    name: 'A sum',
    question: 'A shirt costs 20 dollars and is reduced by 25 %. What does it cost now? Explain each step.',
  },
  { name: 'A story', question: 'Write a short story about a lighthouse keeper.' },
];

export const examplesFor = ({ embedded }: Pick<Model, 'embedded'>): readonly Example[] =>
  embedded ? PROBLEMS : QUESTIONS;
