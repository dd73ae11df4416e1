import type { Run } from './runs.js';

const SUITE_TITLES: ReadonlyMap<string, string> = new Map([
  ['math', 'MATH'],
  ['bbh', 'BIG-Bench Hard'],
  ['gsm8k', 'GSM8K'],
  ['processbench', 'ProcessBench'],
  ['factscore', 'FActScore'],
  ['tasks', 'The reasoner’s tasks'],
  ['questions', 'Factual questions'],
]);
export const suiteTitle = (suite: string): string => SUITE_TITLES.get(suite) ?? suite;

/** A run among several. */
export const runTitle = ({ label, evaluation: { suite, temperature } }: Run): string =>
  `${suiteTitle(suite)}, ${label}, T = ${temperature}`;
