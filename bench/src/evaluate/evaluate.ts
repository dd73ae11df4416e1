import { setImmediate } from 'node:timers/promises';
import type { Evaluation } from '../records/evaluation.js';
import type { CheckRecord, ResponseRecord, ScoreRecord, TimeRecord } from '../records/records.js';
import {
  asked,
  isLeftOut,
  isTruncated,
  type Progressed,
  type SelectionRule,
  select,
} from '../records/selection.js';
import type { BootstrapOptions } from '../statistics/bootstrap.js';
import type { ResponseStep } from '../steps/response-steps.js';
import type { BenchProblem } from '../suites/suite.js';
import { answersOf, rejectionRatios } from './answer-measures.js';
import { digest, type Known, type Labelled, LONGEST, POSITION, type ScoredCase } from './case.js';
import { type Counted, countTable } from './count-measures.js';
import { pooledTable, responseDetectors, responseTable, stepDetectors } from './detection.js';
import { efficiencyTable } from './efficiency-measures.js';
import { stepHits, stepTable, tokenHits, tokenTable } from './hits.js';
import { mainMeasure, pairedAreas, pairedHits } from './paired-measures.js';

/** All that a run found out. */
export interface Records extends Progressed {
  /** Problems in their order, which decides everything that records do not. */
  readonly problems: readonly BenchProblem[];
  /** Scores in any order, to be read more than once. There may be more than memory holds. */
  readonly scores: AsyncIterable<ScoreRecord>;
  readonly times: readonly TimeRecord[];
}

export interface EvaluationRule extends SelectionRule {
  /** Measures in the order of the tables. */
  readonly measures: readonly string[];
  readonly leaveOneOut: boolean;
  readonly stepsOf: (problem: BenchProblem, response: ResponseRecord) => readonly ResponseStep[];
  readonly bootstrap: BootstrapOptions;
}

export type Tables = Pick<
  Evaluation,
  | 'counts'
  | 'claimCounts'
  | 'answers'
  | 'singleStep'
  | 'tokens'
  | 'steps'
  | 'responses'
  | 'claims'
  | 'pooled'
  | 'paired'
  | 'efficiency'
>;

/**
 * All tables of a run. They follow from the records alone, whatever order those came in. Lets other work through between
 * tables: a lock wants to be renewed, an interrupt to be heard.
 * @throws RangeError where a scored response has not the scores of all measures
 */
export async function evaluate(records: Records, rule: EvaluationRule): Promise<Tables> {
  const { problems } = records;
  const { measures, bootstrap } = rule;
  const subsets = [...new Set(problems.map(({ subset }) => subset))];
  const scopes = { subsets, leaveOneOut: rule.leaveOneOut };
  const selection = select(problems, records, rule);
  const cases = await readCases(records, rule, selection);
  const singleStep = cases.length > 0 && cases.every(({ steps }) => steps === 1);
  const wrong = singleStep ? [] : cases.filter((one) => one.wrong);
  const ranked = [...measures, LONGEST, POSITION];

  const counts = countTable(countedProblems(records, rule, selection.examined), subsets);
  const tokens = tokenTable(wrong, ranked, scopes);
  const steps = stepTable(wrong, ranked, scopes);
  await setImmediate();

  // The ratio of the classes is only correct if all responses are scored.
  const answers = rule.scored === 'all' ? cases : [];
  const ofResponses = responseDetectors(answers, ranked, bootstrap);
  const responses = responseTable(
    answers,
    scopes,
    (mine) => (mine === answers ? ofResponses : responseDetectors(mine, ranked, bootstrap)),
    (mine) => rejectionRatios(mine, ranked, bootstrap),
  );
  await setImmediate();
  const found = rule.scored === 'all' ? answersOf(answers, ranked, responses, bootstrap) : null;
  await setImmediate();

  // Steps of right answers alone say nothing.
  const isLabelled = cases.some(({ firstWrong }) => firstWrong !== null);
  const stepped =
    isLabelled && !singleStep
      ? cases.filter(({ correct, firstWrong }) => correct || firstWrong !== null)
      : [];
  const ofSteps = stepDetectors(stepped, ranked, bootstrap);
  await setImmediate();
  const pooled = pooledTable(stepped, scopes, (mine) =>
    mine === stepped ? ofSteps : stepDetectors(mine, ranked, bootstrap),
  );
  await setImmediate();

  const main = mainMeasure(measures);
  return {
    counts,
    claimCounts: [],
    answers: found,
    singleStep,
    tokens,
    steps,
    responses,
    claims: [],
    pooled,
    paired:
      main === undefined
        ? []
        : [
            ...pairedHits('token', tokenHits(wrong, measures), main, bootstrap),
            ...pairedHits('step', stepHits(wrong, ranked), main, bootstrap),
            ...pairedAreas('response', ofResponses, main, answers.length),
            ...pairedAreas('pooled', ofSteps, main, stepped.length),
          ],
    efficiency: efficiencyTable(records.times, measures, bootstrap),
  };
}

/** What the tables need of each response that is scored, in the order of the problems. */
export const scoredCases = (records: Records, rule: EvaluationRule): Promise<ScoredCase[]> =>
  readCases(records, rule, select(records.problems, records, rule));

async function readCases(
  records: Records,
  rule: EvaluationRule,
  { wrong, scored }: ReturnType<typeof select>,
): Promise<ScoredCase[]> {
  const cases = new Map<string, ScoredCase>();
  for await (const { known, score } of knownScores(records, rule, scored))
    cases.set(score.id, digest(known, score, rule.measures, wrong.has(score.id)));
  return records.problems.flatMap(({ id }) => cases.get(id) ?? []);
}

interface KnownScore {
  readonly problem: BenchProblem;
  readonly known: Known;
  readonly score: ScoreRecord;
}

/** Unsure ones are in no table. */
const isLabelled = (check: CheckRecord): check is Labelled => check.correct !== null;

/** The scores of these responses with all that is known of them. */
async function* knownScores(
  { problems, responses, checks, located, scores }: Records,
  { stepsOf }: EvaluationRule,
  wanted: ReadonlySet<string>,
): AsyncGenerator<KnownScore> {
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  for await (const score of scores) {
    const { id } = score;
    const [problem, response, check] = [byId.get(id), responses.get(id), checks.get(id)];
    if (!problem || !response || !check || !isLabelled(check) || !wanted.has(id)) continue;
    const steps = stepsOf(problem, response);
    yield {
      problem,
      score,
      known: { subset: problem.subset, response, check, located: located.get(id) ?? null, steps },
    };
  }
}

function countedProblems(records: Records, rule: EvaluationRule, examined: ReadonlySet<string>): Counted[] {
  const { responses, checks, located } = records;
  return asked(records.problems, records, rule).flatMap((problem): Counted[] => {
    const { id, subset } = problem;
    const response = responses.get(id);
    if (!response) return [];
    const isExamined = examined.has(id);
    return [
      {
        subset,
        text: response.tokenTexts.join(''),
        truncated: isTruncated(response),
        given: problem.given !== null,
        rejected: response.finish === 'rejected',
        check: (!isLeftOut(response) && checks.get(id)) || null,
        located: (isExamined && located.get(id)) || null,
        steps: isExamined ? rule.stepsOf(problem, response) : [],
      },
    ];
  });
}
