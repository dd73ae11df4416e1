import { z } from 'zod';
import { AGGREGATIONS, aggregate } from '#bench/steps/aggregation.js';
import { openAnswers, openScores, readFolder, scoreKey, settingsSchema } from './records.js';
import { stepsOf } from './score.js';
import { TASKS } from './tasks.js';

/** The task whose answers are one unit each: a run of the suite. */
export const QUESTIONS = 'questions';

/** lab/data/small-models.json: every unit that counts, with its label and scores; the page's tables follow from it. */
export const unitSetSchema = z.strictObject({
  task: z.enum([...settingsSchema.shape.task.options, QUESTIONS]),
  ...settingsSchema.pick({ model: true, temperature: true }).shape,
  answers: z.int(),
  /** Answers that were cut off: their last step does not count, nor does an answer that is one unit. */
  truncated: z.int(),
  /** Units that do not count, or have no label. */
  uncounted: z.int(),
  /** A measure and how its tokens' scores become one; `own`: a control, or a measure that scores steps itself. */
  columns: z.array(z.tuple([z.string(), z.enum([...AGGREGATIONS, 'own'])])),
  /** Answer, whether the unit is wrong (1), and a score for each column; `null` where the answer was not scored. */
  units: z.array(z.tuple([z.int(), z.literal([0, 1])]).rest(z.number().nullable())),
});
export type UnitSet = z.output<typeof unitSetSchema>;

export const LENGTH = 'length';
export const POSITION = 'position';

/** Everything that the tables need of a folder of `write` and `score`. */
export async function unitsOfSteps(folder: string, dataFolder: string): Promise<UnitSet> {
  const settings = readFolder(folder);
  const task = TASKS[settings.task];
  const [answers, scores] = [await openAnswers(folder), await openScores(folder)];
  const scoredIds = new Set([...scores.values()].map(({ id }) => id));
  const answered = (await task.load(dataFolder)).filter(({ id }) => answers.get(id)?.tokenIds.length);
  // An interrupted run is cut before the first answer that is not scored: the rest is a sample as the whole
  // is.
  const end = answered.findIndex(({ id }) => !scoredIds.has(id));
  const problems = end < 0 ? answered : answered.slice(0, end);
  const measures = [...new Set([...scores.values()].map(({ measure }) => measure))];
  const scoresSteps = new Set([...scores.values()].flatMap(({ measure, steps }) => (steps ? [measure] : [])));
  const scored = measures.flatMap((measure) =>
    (scoresSteps.has(measure) ? (['own'] as const) : AGGREGATIONS).map((how) => [measure, how] as const),
  );
  const controls = [LENGTH, POSITION];
  let [truncated, uncounted] = [0, 0];
  const units: UnitSet['units'] = [];
  for (const [group, problem] of problems.entries()) {
    const answer = answers.get(problem.id)!;
    const steps = stepsOf(problem, answer);
    const text = answer.tokenTexts.join('');
    const labels = task.label(
      problem,
      steps.map(({ span }) => text.slice(...span)),
    );
    if (answer.finish === 'length') truncated += 1;
    for (const [index, { tokens }] of steps.entries()) {
      const isCut = answer.finish === 'length' && index === steps.length - 1;
      const wrong = labels[index] ?? null;
      if (isCut || wrong === null) {
        uncounted += 1;
        continue;
      }
      const control: Readonly<Record<string, number>> = {
        [LENGTH]: tokens.end - tokens.start,
        [POSITION]: index,
      };
      units.push([
        group,
        wrong ? 1 : 0,
        ...scored.map(([measure, how]) => {
          const score = scores.get(scoreKey(problem.id, measure));
          if (how === 'own') return score?.steps ? shortened(score.steps[index]!) : null;
          return score?.tokens
            ? shortened(aggregate(how, score.tokens.slice(tokens.start, tokens.end)))
            : null;
        }),
        ...controls.map((name) => control[name]!),
      ]);
    }
  }
  const columns: UnitSet['columns'] = [
    ...scored.map(([measure, how]): [string, typeof how] => [measure, how]),
    ...controls.map((name): [string, 'own'] => [name, 'own']),
  ];
  return { ...settings, answers: problems.length, truncated, uncounted, columns, units };
}

/** Enough to order scores. */
export const shortened = (score: number): number => Number(score.toPrecision(4));
