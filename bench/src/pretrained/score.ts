import { type Engine, UsageError } from 'flinch/internals';
import { each } from '../concurrent-map.js';
import { type Measure, samplesNeeded, type TokenSpan } from '../measures/measure.js';
import { scoreMeasures } from '../measures/score-measures.js';
import { type ResponseStep, responseSteps } from '../steps/response-steps.js';
import {
  type Answer,
  openAnswers,
  openSamples,
  openScores,
  type PretrainedSettings,
  sampleKey,
  scoreKey,
} from './records.js';
import { type PretrainedProblem, TASKS } from './tasks.js';

/** The steps of an answer: those that it came in, lines and sentences, or all of it. */
export function stepsOf(
  task: PretrainedSettings['task'],
  { given }: PretrainedProblem,
  { tokenTexts }: Answer,
): ResponseStep[] {
  if (TASKS[task].unit === 'step') return responseSteps(tokenTexts, given?.steps ?? 'sentence');
  const end = tokenTexts.length;
  return end === 0 ? [] : [{ tokens: { start: 0, end }, span: [0, tokenTexts.join('').length] }];
}

export interface Scoring {
  readonly folder: string;
  readonly settings: PretrainedSettings;
  /** Answers to others are not scored. */
  readonly problems: readonly PretrainedProblem[];
  readonly measures: readonly Measure[];
  readonly engine: Engine;
  readonly signal: AbortSignal;
}

/** What the measures say of answers; each is kept as soon as it is known. */
export async function scoreAnswers(scoring: Scoring): Promise<void> {
  const { folder, settings, problems, measures, engine, signal } = scoring;
  const answers = await openAnswers(folder);
  const scores = await openScores(folder);
  const samples = await openSamples(folder);
  const missing = problems.flatMap((problem) => {
    const answer = answers.get(problem.id);
    const needed = measures.filter(({ name }) => !scores.has(scoreKey(problem.id, name)));
    const ready = answer?.promptIds && answer.tokenIds.length > 0 && needed.length > 0;
    return ready ? [{ problem, answer, promptIds: answer.promptIds!, needed }] : [];
  });
  const samplesOf = (id: string, count: number) =>
    Array.from({ length: count }, (_, i) => samples.get(sampleKey(id, i + 1))).flatMap((sample) =>
      // Whether it agrees is what self_consistency asks, which scores no steps.
      sample ? [{ text: sample.text, agrees: false, seconds: 0 }] : [],
    );
  await each(
    `score ${folder}`,
    missing,
    async ({ problem, answer, promptIds, needed }) => {
      const steps = stepsOf(settings.task, problem, answer).map(
        ({ tokens: { start, end } }): TokenSpan => [start, end],
      );
      const { tokenIds, tokenTexts } = answer;
      const response = {
        ...{ promptIds, tokenIds, tokenTexts, steps, question: problem.question },
        ...{ stepMode: 'sentence' as const, samples: samplesOf(problem.id, samplesNeeded(needed)) },
      };
      const found = await scoreMeasures(engine, response, needed, NO_ENCODERS);
      for (const { name } of needed) {
        const [tokens, ofSteps] = [found.tokens[name], found.stepScores[name]];
        if (!tokens && !ofSteps) throw new UsageError(`--measures: ${name} scores neither tokens nor steps`);
        scores.add({
          ...{ id: problem.id, measure: name },
          ...(tokens
            ? { tokens: tokens.map((score) => score && rounded(score)) }
            : { steps: ofSteps!.map(rounded) }),
        });
      }
    },
    { concurrency: 1, signal },
  );
}

/** CCP and TokenSAR by their substitutes, which need no model. */
const NO_ENCODERS = { relate: null, compare: null, embed: null };

const rounded = (score: number): number => Number(score.toPrecision(6));
