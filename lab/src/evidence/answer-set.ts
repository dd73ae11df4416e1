import { basename, resolve } from 'node:path';
import { z } from 'zod';
import type { Aggregated, MeasureDigest, ScoredCase } from '#bench/evaluate/case.js';
import { LONGEST, POSITION } from '#bench/evaluate/case.js';
import { casesOfRun } from '#bench/run/evaluate-run.js';
import { readRun } from '#bench/run/run-folder.js';
import { AGGREGATIONS, type Aggregation, byAggregation } from '#bench/steps/aggregation.js';
import { UsageError } from '#src/files/file-errors.js';

/** −∞, of a step whose tokens were skipped, is `null`. */
const score = z.number().nullable();
const chances = z.array(z.number().nullable()).nullable();

/**
 * A run in lab/data/pretrained.json: of each answer what the tables need, which is less than a tenth of the scores of
 * its tokens.
 */
export const answerSetSchema = z.object({
  name: z.string(),
  model: z.string(),
  /** Measures of tokens, in the order of the run. */
  measures: z.array(z.string()),
  answers: z.array(
    z.object({
      id: z.string(),
      correct: z.boolean(),
      /** Its number. */
      firstWrong: z.int().nullable(),
      /** Tokens of each step. */
      tokens: z.array(z.int()),
      chance: chances,
      first: chances,
      /** By measure, for each of HIT_KS: whether the first wrong step holds one of so many highest tokens (1). */
      hits: z.record(z.string(), z.string().regex(/^[01]+$/)),
      /** By measure: a score of each step. */
      steps: z.record(z.string(), z.strictObject(byAggregation(() => z.array(score)))),
    }),
  ),
});
export type AnswerSet = z.output<typeof answerSetSchema>;
type Answer = AnswerSet['answers'][number];

/**
 * The answers of a run of `flinch bench run`, that are scored so far, right ones among them, under
 * the name of the run's folder. Left out are those that were cut off, and wrong ones whose first wrong step is not known.
 * @throws UsageError for another folder
 */
export async function collectAnswers(folder: string): Promise<AnswerSet> {
  const { settings, about } = await readRun(folder);
  if (settings.score === 'wrong')
    throw new UsageError(`${folder}: has scores of wrong responses alone (--score wrong)`);
  const cases = (await casesOfRun(folder)).filter(({ correct, wrong }) => correct || wrong);
  const name = basename(resolve(folder));
  const measures = settings.measures.filter((measure) => cases[0]?.measures.get(measure)?.steps.has('sum'));
  return {
    name,
    model: about.model.name,
    measures,
    answers: cases.map((one) => answerOf(one, measures)),
  };
}

function answerOf(one: ScoredCase, measures: readonly string[]): Answer {
  const { id, correct, firstWrong, chance, first } = one;
  const digest = (measure: string): MeasureDigest => one.measures.get(measure)!;
  const known = (some: readonly number[] | null) => some?.map((each) => rounded(each)) ?? null;
  const hits = [...measures, POSITION].flatMap((measure): [string, string][] => {
    const mine = digest(measure).hits;
    return mine ? [[measure, mine.map(Number).join('')]] : [];
  });
  return {
    id,
    correct,
    firstWrong,
    tokens: [...digest(LONGEST).steps.get('own')!],
    chance: known(chance),
    first: known(first),
    hits: Object.fromEntries(hits),
    steps: Object.fromEntries(
      measures.map((measure) => [
        measure,
        byAggregation((statistic) => digest(measure).steps.get(statistic)!.map(rounded)),
      ]),
    ),
  };
}

/** To five digits. */
const rounded = (value: number): number | null =>
  Number.isFinite(value) ? Number(value.toPrecision(5)) : null;

/** The answers as `flinch bench run` evaluates them. */
export const casesOf = ({ measures, name, answers }: AnswerSet): ScoredCase[] =>
  answers.map((answer) => {
    const { id, correct, firstWrong, tokens, chance, first } = answer;
    const bare = { response: new Map() };
    const hitsOf = (measure: string): boolean[] | null =>
      answer.hits[measure] === undefined ? null : [...answer.hits[measure]].map((bit) => bit === '1');
    const scored = measures.map((measure): [string, MeasureDigest] => {
      const steps = AGGREGATIONS.map((how): [Aggregated, number[]] => [
        how,
        stepScores(answer, measure, how),
      ]);
      return [measure, { hits: hitsOf(measure), steps: new Map(steps), ...bare }];
    });
    const numbers = (some: Answer['chance']) => some?.map((each) => each ?? Number.NaN) ?? null;
    return {
      id,
      subset: name,
      correct,
      wrong: !correct,
      firstWrong,
      steps: tokens.length,
      chance: numbers(chance),
      first: numbers(first),
      measures: new Map([
        ...scored,
        [LONGEST, { hits: null, steps: new Map([['own', tokens]]), ...bare }],
        [POSITION, { hits: hitsOf(POSITION), steps: new Map([['own', tokens.map((_, i) => i)]]), ...bare }],
      ]),
    };
  });

const stepScores = ({ steps }: Answer, measure: string, statistic: Aggregation): number[] =>
  steps[measure]![statistic].map((each) => each ?? Number.NEGATIVE_INFINITY);

export interface LabelledStep {
  /** Number of its answer. */
  readonly answer: number;
  /** First wrong, right, or after the first wrong one: what follows an error is neither right nor wrong of itself. */
  readonly label: 'wrong' | 'right' | 'after';
  /** Its place in the answer, from 0. */
  readonly place: number;
  readonly tokens: number;
  /** By measure. */
  readonly scores: ReadonlyMap<string, Readonly<Record<Aggregation, number>>>;
}

export interface StepSet {
  readonly name: string;
  readonly answers: number;
  readonly measures: readonly string[];
  readonly steps: readonly LabelledStep[];
}

export const labelledSteps = ({ name, measures, answers }: AnswerSet): StepSet => ({
  name,
  measures,
  answers: answers.length,
  steps: answers.flatMap((answer, i) => {
    const all = measures.map(
      (measure) => [measure, byAggregation((statistic) => stepScores(answer, measure, statistic))] as const,
    );
    return answer.tokens.map((tokens, place): LabelledStep => {
      const { firstWrong } = answer;
      const label =
        place === firstWrong ? 'wrong' : place < (firstWrong ?? answer.tokens.length) ? 'right' : 'after';
      const scores = all.map(
        ([measure, of]) => [measure, byAggregation((statistic) => of[statistic][place]!)] as const,
      );
      return { answer: i, label, place, tokens, scores: new Map(scores) };
    });
  }),
});
