import { Agreement, type AnswerKind, finalAnswer, readAnswer, UsageError } from 'flinch/internals';
import { each } from '../../concurrent-map.js';
import { mapValues } from '../../map-values.js';
import { needsClaimGraph, samplesNeeded } from '../../measures/measure.js';
import { type Scorable, scoreMeasures } from '../../measures/score-measures.js';
import type { CheckRecord, ResponseRecord, ScoreRecord } from '../../records/records.js';
import { scoredIn } from '../../records/selection.js';
import { keyOf } from '../../suites/own/own-problems.js';
import type { BenchProblem } from '../../suites/suite.js';
import { suites } from '../../suites/suites.js';
import { promptOf } from '../problem-prompt.js';
import { type Run, stepMode, stepsOf, textOf } from '../run-context.js';
import { comparable, type DrawnSample, storedSamples } from './further-responses.js';
import { claimGraphOf } from './graph-stage.js';

/**
 * Scores the responses by all measures. One at a time: texts that share a run of the engine differ in their
 * last digits, and which texts share one depends on timing; the tables must not.
 */
export async function scoreResponses(run: Run): Promise<void> {
  const { engine, suite, problems, records, rule, measures, encoders, signal } = run;
  const scored = scoredIn(suite, problems, records, rule);
  const all = problems.filter(({ id }) => scored.has(id));
  const missing = all.filter(({ id }) => !records.scored.has(id));
  const agreement = new Agreement(() => {});
  await each(
    'score',
    missing,
    async (problem) => {
      const { id } = problem;
      const response = {
        ...scorable(run, problem, storedSamples(run, id, samplesNeeded(measures))),
        ...(needsClaimGraph(measures) && { claimGraph: claimGraphOf(run, id) }),
      };
      const {
        tokens,
        stepScores,
        response: whole,
        claimScores,
        logprobs,
      } = await scoreMeasures(engine, response, measures, encoders);
      checkWriter(agreement, records.responses.get(id)!, logprobs);
      const record: ScoreRecord = {
        id,
        steps: response.steps.map(([from, to]) => [from, to]),
        tokens: mapValues(tokens, (scores) => scores.map((score) => score && rounded(score))),
        stepScores: mapValues(stepScores, (scores) => scores.map(rounded)),
        response: mapValues(whole, rounded),
        ...(Object.keys(claimScores).length > 0 && {
          claimScores: mapValues(claimScores, (scores) => scores.map(rounded)),
        }),
      };
      records.scored.add(record);
    },
    { concurrency: 1, done: all.length - missing.length, signal },
  );
}

/**
 * Compares writer and scorer, as a gateway does.
 * @throws UsageError if the response was written by another model, or for another prompt
 */
function checkWriter(
  agreement: Agreement,
  { id, logprobs: sentLogprobs }: ResponseRecord,
  scored: readonly number[] | null,
): void {
  if (!sentLogprobs || !scored) return;
  const own = agreement.begin();
  for (const [i, logprob] of scored.entries()) own.compare(logprob, sentLogprobs[i] ?? null);
  const [mismatch] = own.take();
  if (!mismatch) return;
  const { tokens, difference, tolerance } = mismatch;
  throw new UsageError(
    `${id}: --model did not write this response: its log-probabilities differ from the writer's by ${difference.toFixed(2)} on average over ${tokens} tokens (at most ${tolerance}); the weights or the chat template are others`,
  );
}

/** @param samples of the response, from the first on; of one that was cut off the whole steps count, and no answer */
export function scorable(
  { engine, suite, settings, records }: Run,
  problem: BenchProblem,
  samples: readonly DrawnSample[],
): Scorable {
  const response = records.responses.get(problem.id)!;
  const agreeing = agreement({ suite }, problem, {
    text: textOf(response),
    check: records.checks.get(problem.id),
  });
  const { tokenIds, tokenTexts } = response;
  const mode = stepMode(problem);
  return {
    promptIds: promptOf(engine.checkpoint, suite, problem, settings.system),
    question: problem.question,
    tokenIds,
    tokenTexts,
    steps: stepsOf(problem, response).map(({ tokens: { start, end } }) => [start, end]),
    stepMode: mode,
    samples: samples.map((sample) => comparable(sample, mode, agreeing)),
  };
}

/** Kinds of answers that are found in a response apart from its other words. */
const FOUND: readonly (AnswerKind | undefined)[] = ['number', 'yes-no', 'choice', 'date'];

/** Tells whether the final answer of another response is equivalent to this one's. */
function agreement(
  { suite }: Pick<Run, 'suite'>,
  problem: BenchProblem,
  { text, check }: { readonly text: string; readonly check: CheckRecord | undefined },
): (other: string) => boolean {
  const extracted = check?.extracted ?? null;
  if (suite.name === 'own' || suite.name === 'questions') {
    const kind = check?.kind;
    if (kind && FOUND.includes(kind) && extracted !== null)
      return (other) => readAnswer(other, { ...keyOf(problem), answers: [extracted] }, kind).correct === true;
    const said = finalAnswer(text);
    return (other) => said !== null && finalAnswer(other) === said;
  }
  const asked = { ...problem, given: null, reference: extracted };
  // ProcessBench checks no other responses than those it has; its problems are mathematics.
  const checking = suite.name === 'processbench' ? suites.math : suite;
  return (other) => extracted !== null && (checking.check(asked, other)?.correct ?? false);
}

/** Nine digits are all that fp32 has, and half of what JSON would write of them. */
const rounded = (score: number): number => Number(score.toPrecision(9));
