import { readAnswer } from 'flinch/internals';
import { z } from 'zod';
import { chosenSubsets, neededFolder, readRows } from './data-files.js';
import type { Suite } from './suite.js';
import { gsm8kPrompt } from './suite-prompts.js';

/** The number after the last "####" of a solution, without dollar signs and thousands separators; `null` without one. */
export const gsm8kReference = (solution: string): string | null =>
  /####\s*\$?(-?[\d,]*\.?\d+)(?!.*####)/s.exec(solution)?.[1]?.replaceAll(',', '') ?? null;

const rowSchema = z.object({
  question: z.string().min(1),
  answer: z.string().refine((text) => gsm8kReference(text) !== null, 'has no number after "####"'),
});

/** GSM8K: openai/grade-school-math, its test set, from `test.jsonl`. */
export const gsm8kSuite: Suite = {
  name: 'gsm8k',
  judged: 'answer',
  labelledBy: 'judge',
  async load(source) {
    chosenSubsets(['gsm8k'], source.subsets);
    const rows = await readRows('gsm8k', neededFolder('gsm8k', source), 'test.jsonl', rowSchema);
    return rows.map(({ question, answer }, i) => ({
      id: `gsm8k-${i}`,
      subset: 'gsm8k',
      question,
      reference: gsm8kReference(answer),
      given: null,
    }));
  },
  messages: ({ question }) => [{ role: 'user', content: gsm8kPrompt(question) }],
  check: ({ question, reference }, response) =>
    readAnswer(
      response,
      { question, answers: reference === null ? [] : [reference], choices: null },
      'number',
    ),
  locate: () => null,
};
