import { z } from 'zod';
import { bbhKind, readBbhAnswer } from '../answers/bbh-answer.js';
import { chosenSubsets, neededFolder, readJson } from './data-files.js';
import type { BenchProblem, Suite } from './suite.js';
import { bbhPrompt } from './suite-prompts.js';

/** Subsets that the paper names; its captions count ten, and it is unknown which one it left out. */
export const BBH_SUBSETS = [
  'formal_fallacies',
  'logical_deduction_five_objects',
  'logical_deduction_seven_objects',
  'logical_deduction_three_objects',
  'navigate',
  'reasoning_about_colored_objects',
  'temporal_sequences',
  'tracking_shuffled_objects_five_objects',
  'tracking_shuffled_objects_seven_objects',
  'tracking_shuffled_objects_three_objects',
  'web_of_lies',
] as const;

const target = z
  .string()
  .refine((text) => bbhKind(text) !== null, 'must be (A) to (R), Yes, No, valid or invalid');
const fileSchema = z.object({ examples: z.array(z.object({ input: z.string().min(1), target })).min(1) });

/** BIG-Bench Hard, from `<subset>.json`. */
export const bbhSuite: Suite = {
  name: 'bbh',
  judged: 'answer',
  labelledBy: 'judge',
  async load(source) {
    const folder = neededFolder('bbh', source);
    const subsets = chosenSubsets(BBH_SUBSETS, source.subsets);
    const files = await Promise.all(
      subsets.map(async (subset): Promise<BenchProblem[]> => {
        const { examples } = await readJson('bbh', folder, `${subset}.json`, fileSchema);
        return examples.map(({ input, target }, i) => ({
          id: `${subset}-${i}`,
          subset,
          question: input,
          reference: target,
          given: null,
        }));
      }),
    );
    return files.flat();
  },
  messages: (problem) => [{ role: 'user', content: bbhPrompt(problem.question, kindOf(problem)) }],
  check(problem, response) {
    return readBbhAnswer(response, problem.question, problem.reference ?? '');
  },
  locate: () => null,
};

/** Kind of a problem that was loaded: its reference is of one of the kinds. */
const kindOf = ({ reference }: BenchProblem) => bbhKind(reference ?? '') ?? 'option';
