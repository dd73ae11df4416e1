import { z } from 'zod';
import { extractGsm8kAnswer, gsm8kReference, sameGsm8kAnswer } from '../answers/gsm8k-answer.js';
import { chosenSubsets, neededFolder, readRows } from './data-files.js';
import type { Suite } from './suite.js';
import { gsm8kPrompt } from './suite-prompts.js';

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
  check({ reference }, response) {
    const extracted = extractGsm8kAnswer(response);
    const correct = extracted !== null && reference !== null && sameGsm8kAnswer(extracted, reference);
    return { extracted, correct };
  },
  locate: () => null,
};
