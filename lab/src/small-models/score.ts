import { each } from '#bench/concurrent-map.js';
import type { Measure, TokenSpan } from '#bench/measures/measure.js';
import { scoreMeasures } from '#bench/measures/score-measures.js';
import { type ResponseStep, responseSteps } from '#bench/steps/response-steps.js';
import type { Engine } from '#src/engine/engine.js';
import { UsageError } from '#src/files/errors.js';
import { type Answer, openAnswers, openScores, scoreKey } from './records.js';
import type { PretrainedProblem } from './tasks.js';

/** The steps of an answer: those that it came in, or lines and sentences. */
export const stepsOf = ({ given }: PretrainedProblem, { tokenTexts }: Answer): ResponseStep[] =>
  responseSteps(tokenTexts, given?.steps ?? 'sentence');

export interface Scoring {
  readonly folder: string;
  /** Answers to others are not scored. */
  readonly problems: readonly PretrainedProblem[];
  readonly measures: readonly Measure[];
  readonly engine: Engine;
  readonly signal: AbortSignal;
}

/** Scores answers by all measures; each score is kept as soon as it is known. */
export async function scoreAnswers(scoring: Scoring): Promise<void> {
  const { folder, problems, measures, engine, signal } = scoring;
  const answers = await openAnswers(folder);
  const scores = await openScores(folder);
  const missing = problems.flatMap((problem) => {
    const answer = answers.get(problem.id);
    const needed = measures.filter(({ name }) => !scores.has(scoreKey(problem.id, name)));
    const ready = answer?.promptIds && answer.tokenIds.length > 0 && needed.length > 0;
    return ready ? [{ problem, answer, promptIds: answer.promptIds!, needed }] : [];
  });
  await each(
    `score ${folder}`,
    missing,
    async ({ problem, answer, promptIds, needed }) => {
      const steps = stepsOf(problem, answer).map(({ tokens: { start, end } }): TokenSpan => [start, end]);
      const { tokenIds, tokenTexts } = answer;
      const response = {
        promptIds,
        tokenIds,
        tokenTexts,
        steps,
        question: problem.question,
        stepMode: 'sentence' as const,
        samples: [],
      };
      const found = await scoreMeasures(engine, response, needed, NO_ENCODERS);
      for (const { name } of needed) {
        const [tokens, ofSteps] = [found.tokens[name], found.stepScores[name]];
        if (!tokens && !ofSteps) throw new UsageError(`--measures: ${name} scores neither tokens nor steps`);
        scores.add({
          id: problem.id,
          measure: name,
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
