import { readFileSync } from 'node:fs';
import { kindOf, readAnswer } from 'flinch/internals';
import { z } from 'zod';
import { chosenSubsets } from './data-files.js';
import { pythonShuffle } from './python-shuffle.js';
import type { BenchProblem, Checked, Suite } from './suite.js';

const questionSchema = z.array(z.strictObject({ question: z.string(), answers: z.array(z.string()).min(1) }));

/** Short questions with right answers, any of which will do. They belong to this package, under CC0. */
export const readQuestions = (): z.output<typeof questionSchema> =>
  questionSchema.parse(
    JSON.parse(readFileSync(new URL('../../assets/questions.json', import.meta.url), 'utf8')),
  );

const SEPARATOR = ' | ';

/** Examples for a base model, which continues them. */
const EXAMPLES = `Question: What is the capital of Belgium?
Answer: The capital of Belgium is Brussels.

Question: Who wrote Robinson Crusoe?
Answer: Robinson Crusoe was written by Daniel Defoe.

Question: How many months are there in a year?
Answer: There are twelve months in a year.

`;

function check({ question, reference }: BenchProblem, response: string): Checked {
  const key = { question, answers: reference?.split(SEPARATOR) ?? [], choices: null };
  const kind = kindOf(key);
  return { ...readAnswer(response, key, kind), kind };
}

/** Factual questions: a response is right if it gives a known answer, read by what that is. A response is one step. */
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
  locate: (problem, response) => (check(problem, response).correct !== false ? null : [0, response.length]),
};
