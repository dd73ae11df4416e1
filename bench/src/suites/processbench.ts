import { join } from 'node:path';
import { z } from 'zod';
import { extractMathAnswer } from '../answers/math-answer.js';
import type { Span } from '../steps/first-wrong-step.js';
import { GIVEN_SEPARATOR } from '../steps/response-steps.js';
import { chosenSubsets, neededFolder, readJson, refuseRepeated } from './data-files.js';
import { pythonShuffle } from './python-shuffle.js';
import type { GivenResponse, Suite } from './suite.js';
import { mathPrompt } from './suite-prompts.js';

export const PROCESSBENCH_SUBSETS = ['gsm8k', 'math', 'olympiadbench', 'omnimath'] as const;

const rowSchema = z
  .object({
    id: z.string().min(1),
    generator: z.string(),
    problem: z.string().min(1),
    steps: z.array(z.string()).min(1),
    final_answer_correct: z.boolean(),
    label: z.int().min(-1),
  })
  .refine(({ label, steps }) => label < steps.length, { path: ['label'], message: 'is past the last step' });

/** The text of a given response. */
export const responseText = ({ steps }: GivenResponse): string => steps.join(GIVEN_SEPARATOR);

/** Position of a step in {@link responseText}. */
export function givenStepSpan({ steps }: GivenResponse, index: number): Span {
  const start = steps
    .slice(0, index)
    .reduce((length, step) => length + step.length + GIVEN_SEPARATOR.length, 0);
  return [start, start + (steps[index]?.length ?? 0)];
}

/**
 * ProcessBench, from `<subset>.json`: responses of other models whose first wrong step people have labelled.
 * A response is right here if no step is wrong, as in the benchmark's own metrics; its final answer can be
 * right all the same (`given.finalAnswerCorrect`). Only the given responses can be checked.
 *
 * The files have wrong responses first. Rows are shuffled, always alike, so that the first of them are a fair sample.
 */
export const processbenchSuite: Suite = {
  name: 'processbench',
  judged: 'answer',
  labelledBy: 'labels',
  async load(source) {
    const folder = neededFolder('processbench', source);
    const subsets = chosenSubsets(PROCESSBENCH_SUBSETS, source.subsets);
    const files = await Promise.all(
      subsets.map(async (subset) => {
        const file = `${subset}.json`;
        const rows = await readJson('processbench', folder, file, z.array(rowSchema).min(1));
        return rows.map((row, i) => ({ row, subset, id: row.id, place: `${join(folder, file)}: [${i}].id` }));
      }),
    );
    refuseRepeated(files.flat());
    const shuffled = files.flatMap((rows) => pythonShuffle(rows, 0));
    return shuffled.map(({ row, subset }) => ({
      id: row.id,
      subset,
      question: row.problem,
      reference: null,
      given: {
        generator: row.generator,
        steps: row.steps,
        firstWrong: row.label < 0 ? null : row.label,
        finalAnswerCorrect: row.final_answer_correct,
      },
    }));
  },
  messages: ({ question }) => [{ role: 'user', content: mathPrompt(question) }],
  check({ given }, response) {
    if (given === null || response !== responseText(given)) return null;
    return { extracted: extractMathAnswer(response), correct: given.firstWrong === null, by: 'labels' };
  },
  locate({ given }, response) {
    if (given === null || given.firstWrong === null || response !== responseText(given)) return null;
    return givenStepSpan(given, given.firstWrong);
  },
};
