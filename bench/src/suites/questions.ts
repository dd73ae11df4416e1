import { readFileSync } from 'node:fs';
import { stepContent } from 'flinch';
import { z } from 'zod';
import { chosenSubsets } from './data-files.js';
import { pythonShuffle } from './python-shuffle.js';
import type { BenchProblem, Checked, Suite } from './suite.js';

const questionSchema = z.array(z.strictObject({ question: z.string(), answers: z.array(z.string()).min(1) }));

/** Short questions with what a right answer contains, any of these. They belong to this package, under CC0. */
export const readQuestions = (): z.output<typeof questionSchema> =>
  questionSchema.parse(
    JSON.parse(readFileSync(new URL('../../assets/questions.json', import.meta.url), 'utf8')),
  );

/** Scripts that do not part words. */
const UNPARTED =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const BEGINS_UNPARTED = new RegExp(`^[${UNPARTED}]`, 'u');
const ENDS_UNPARTED = new RegExp(`[${UNPARTED}]$`, 'u');

/** Whether a text contains one of the answers, as whole words or numbers, in whatever case. */
export const containsAnswer = (text: string, answers: readonly string[]): boolean =>
  answers.some((answer) => {
    const literal = answer.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const before = BEGINS_UNPARTED.test(answer) ? '' : String.raw`(?<![\p{L}\p{N}]|\d[.,])`;
    // 5 is not in -5, but in 2-5.
    const sign = /^\d/.test(answer) ? String.raw`(?<!(?<![\p{L}\p{N}])[-−])` : '';
    const after = ENDS_UNPARTED.test(answer) ? '' : String.raw`(?![\p{L}\p{N}]|[.,]\d)`;
    return new RegExp(`${before}${sign}${literal}${after}`, 'iu').test(text);
  });

const SEPARATOR = ' | ';

/** Examples for a base model, which continues them. */
const EXAMPLES = `Question: What is the capital of Belgium?
Answer: The capital of Belgium is Brussels.

Question: Who wrote Robinson Crusoe?
Answer: Robinson Crusoe was written by Daniel Defoe.

Question: How many months are there in a year?
Answer: There are twelve months in a year.

`;

function check({ reference }: BenchProblem, response: string): Checked {
  const extracted = stepContent(response) || null;
  const right = reference !== null && containsAnswer(response, reference.split(SEPARATOR));
  return { extracted, correct: right || (extracted !== null && extracted === reference) };
}

/**
 * Factual questions: a response is right if it contains a known answer. Two responses agree if they state the same as
 * {@link stepContent} reads them. A response is one step.
 */
export const questionsSuite: Suite = {
  name: 'questions',
  judged: 'answer',
  labelledBy: 'program',
  async load({ subsets, seed }) {
    chosenSubsets(['questions'], subsets);
    const all = readQuestions().map(({ question, answers }, i) => ({
      id: `question-${i}`,
      subset: 'questions',
      question,
      reference: answers.join(SEPARATOR),
      given: null,
    }));
    // They are listed by topic.
    return pythonShuffle(all, seed);
  },
  messages: ({ question }) => [{ role: 'user', content: `${question} Answer in one short sentence.` }],
  completion: {
    prompt: ({ question }) => `${EXAMPLES}Question: ${question}\nAnswer:`,
    stop: ['\n'],
  },
  check,
  locate: (problem, response) => (check(problem, response).correct ? null : [0, response.length]),
};
