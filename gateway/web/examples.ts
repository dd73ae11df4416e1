import type { Model } from './models.js';

export interface Example {
  readonly name: string;
  readonly question: string;
}

/** Questions of the kinds that the embedded model was trained on. */
const PUZZLES: readonly Example[] = [
  {
    name: 'Word problem',
    question:
      'Maya has 11 stones. Then Maya sells 3. Maya finds 67 more. Then Maya buys 14 more. How many stones are there at the end?',
  },
  { name: 'Arithmetic', question: 'What is (47 - 12) * 3 + 8?' },
  {
    name: 'Shuffled objects',
    question:
      'Sam, Cleo and Eva each hold a ball. Sam has the brown ball. Cleo has the black ball. Eva has the red ball. Sam and Cleo swap. Eva swaps with Sam. What color does Cleo hold now?',
  },
  {
    name: 'Web of lies',
    question: 'Maya lies. Zoe says Maya tells the truth. Lena says Zoe lies. Does Lena tell the truth?',
  },
  {
    name: 'Navigate',
    question:
      'You stand at (0, 0) facing north. Walk 18 steps. Go 6 steps forward. Turn left. Go 4 steps forward. Where are you?',
  },
];

const QUESTIONS: readonly Example[] = [
  { name: 'A fact', question: 'What is the capital of France?' },
  { name: 'A wrong premise', question: 'When did Albert Einstein win the football World Cup?' },
  {
    name: 'A sum',
    question: 'A shirt costs 20 dollars and is reduced by 25 %. What does it cost now? Explain each step.',
  },
  { name: 'A story', question: 'Write a short story about a lighthouse keeper.' },
];

export const examplesFor = ({ embedded }: Pick<Model, 'embedded'>): readonly Example[] =>
  embedded ? PUZZLES : QUESTIONS;
