import { setImmediate } from 'node:timers/promises';
import { mean } from 'simple-statistics';
import type { Evaluation } from '../records/evaluation.js';
import type { ClaimsRecord, ResponseRecord, ScoreRecord } from '../records/records.js';
import { type ClaimsKnown, isLabelled, isTruncated, selectClaimed } from '../records/selection.js';
import { type BootstrapOptions, bootstrap } from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { AGGREGATIONS, aggregate } from '../steps/aggregation.js';
import type { Span } from '../steps/first-wrong-step.js';
import { type ResponseStep, tokensIn } from '../steps/response-steps.js';
import type { BenchProblem } from '../suites/suite.js';
import { type Aggregated, checkScores, LONGEST } from './case.js';
import { countEach, inScopes } from './count-measures.js';
import { areaRow, type Detector, detectors, scorersOf } from './detection.js';
import { efficiencyTable } from './efficiency-measures.js';
import type { EvaluationRule, Records, Tables } from './evaluate.js';
import { scoped, written } from './measure-table.js';
import { mainMeasure, pairedAreas } from './paired-measures.js';

/** All records of a run whose suite is judged by claims. */
export type ClaimRecords = Pick<Records, 'problems' | 'responses' | 'scores' | 'times'> & ClaimsKnown;

/** A claim of which is known whether it is supported, and what each measure makes of its tokens. */
interface ScoredClaim {
  readonly supported: boolean;
  readonly scores: ReadonlyMap<string, ReadonlyMap<Aggregated, number>>;
}

interface ClaimedCase {
  readonly id: string;
  readonly subset: string;
  readonly claims: readonly ScoredClaim[];
}

/**
 * All tables of a run whose suite is judged by claims: is a claim unsupported? (docs/design/evaluation.md,
 * section 9)
 * @throws RangeError where a scored response has not the scores of all measures
 */
export async function evaluateClaims(
  records: ClaimRecords,
  { measures, stepsOf, bootstrap: options }: Pick<EvaluationRule, 'measures' | 'stepsOf' | 'bootstrap'>,
): Promise<Tables> {
  const { problems } = records;
  const subsets = [...new Set(problems.map(({ subset }) => subset))];
  const cases = await readCases(records, measures, stepsOf);
  const ofAll = claimDetectors(cases, measures, options);
  await setImmediate();
  const detectorsOf = (mine: readonly ClaimedCase[]): readonly Detector[] =>
    mine === cases ? ofAll : claimDetectors(mine, measures, options);
  const claims = scoped(cases, { subsets, leaveOneOut: false }, (mine) => {
    const labels = mine.flatMap((one) => one.claims.map(({ supported }) => supported));
    const counts = { n: labels.length, positives: labels.filter((supported) => !supported).length };
    return detectorsOf(mine).map((detector) => areaRow(detector, counts));
  });
  const main = mainMeasure(measures);
  const n = cases.reduce((sum, one) => sum + one.claims.length, 0);
  return {
    ...{ counts: [], answers: null, singleStep: false, tokens: [], steps: [], responses: [], pooled: [] },
    claimCounts: inScopes(problems, subsets, (mine) => countsOf(mine, records, options)),
    claims,
    paired: main === undefined ? [] : pairedAreas('claim', ofAll, main, n),
    efficiency: efficiencyTable(records.times, measures, options),
  };
}

async function readCases(
  records: ClaimRecords,
  measures: readonly string[],
  stepsOf: EvaluationRule['stepsOf'],
): Promise<ClaimedCase[]> {
  const { problems, responses, scores } = records;
  const byId = new Map(problems.map((problem) => [problem.id, problem]));
  const scored = selectClaimed(problems, records);
  const cases = new Map<string, ClaimedCase>();
  for await (const score of scores) {
    const { id } = score;
    const [problem, response, known] = [byId.get(id), responses.get(id), records.claims.get(id)];
    if (!problem || !response || !known || !scored.has(id)) continue;
    const steps = stepsOf(problem, response);
    for (const name of measures)
      checkScores(name, score, response.tokenIds.length, steps.length, known.claims.length);
    const claims = known.claims.flatMap((claim, place) =>
      isLabelled(claim)
        ? {
            supported: claim.supported === true,
            scores: claimScores({ spans: claim.spans, place }, response, steps, score, measures),
          }
        : [],
    );
    cases.set(id, { id, subset: problem.subset, claims });
  }
  return problems.flatMap(({ id }) => cases.get(id) ?? []);
}

/**
 * Sum, mean and largest of its tokens' scores; of a measure without these its own, or that of the step that it is in.
 * @param place among all claims of the response
 */
function claimScores(
  { spans, place }: { readonly spans: readonly Span[]; readonly place: number },
  { tokenTexts }: ResponseRecord,
  steps: readonly ResponseStep[],
  score: ScoreRecord,
  measures: readonly string[],
): ScoredClaim['scores'] {
  const tokens = tokensOf(spans, tokenTexts);
  const scores = new Map<string, ReadonlyMap<Aggregated, number>>();
  for (const name of measures) {
    const [ofTokens, ofSteps] = [score.tokens[name], score.stepScores[name]];
    const own = score.claimScores?.[name];
    if (ofTokens) {
      const mine = tokens.map((token) => ofTokens[token]!);
      scores.set(name, new Map(AGGREGATIONS.map((how) => [how, aggregate(how, mine)])));
    } else if (own) scores.set(name, new Map([['own', own[place]!]]));
    else if (ofSteps) scores.set(name, new Map([['own', ofSteps[stepOf(spans, steps)]!]]));
  }
  scores.set(LONGEST, new Map([['own', tokens.length]]));
  return scores;
}

/** Tokens that overlap any of the spans, each once, in their order. */
function tokensOf(spans: readonly Span[], tokenTexts: readonly string[]): number[] {
  const tokens = new Set<number>();
  for (const span of spans) {
    const range = tokensIn(tokenTexts, span);
    for (let token = range?.start ?? 0; token < (range?.end ?? 0); token += 1) tokens.add(token);
  }
  return [...tokens].sort((a, b) => a - b);
}

/** The step that holds most of the spans' characters, the first of equals. */
function stepOf(spans: readonly Span[], steps: readonly ResponseStep[]): number {
  const overlaps = steps.map(({ span: [start, end] }) =>
    spans.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)), 0),
  );
  return overlaps.indexOf(Math.max(...overlaps));
}

/** Claims of one response depend on each other: responses are drawn again. */
function claimDetectors(
  cases: readonly ClaimedCase[],
  measures: readonly string[],
  options: BootstrapOptions,
): Detector[] {
  const examples = cases.flatMap(({ claims }, group) =>
    claims.map((claim) => ({ of: claim, positive: !claim.supported, group })),
  );
  const scorers = scorersOf<ScoredClaim>(
    [...measures, LONGEST],
    (measure) => examples[0]?.of.scores.get(measure)?.keys(),
    // Each response has the scores of all measures.
    ({ scores }, measure, how) => scores.get(measure)!.get(how)!,
  );
  return detectors(examples, cases.length, scorers, options);
}

function countsOf(
  problems: readonly BenchProblem[],
  { responses, claims }: ClaimRecords,
  options: BootstrapOptions,
): Omit<Evaluation['claimCounts'][number], 'scope'> {
  const answered = problems.flatMap(({ id }) => responses.get(id) ?? []);
  const judged = problems.flatMap(({ id }) => claims.get(id) ?? []);
  const all = judged.flatMap((one) => one.claims);
  const counted = all.filter(isLabelled);
  const supported = counted.filter((claim) => claim.supported).length;
  const unplaced = all.filter(({ spans }) => spans.length === 0).length;
  const shares = judged.flatMap((one) => {
    const labels = one.claims.filter(isLabelled);
    return labels.length === 0 ? [] : [labels.filter((claim) => claim.supported).length / labels.length];
  });
  return {
    problems: answered.length,
    truncated: answered.filter(isTruncated).length,
    responses: shares.length,
    supported,
    unsupported: counted.length - supported,
    unlabelled: all.length - unplaced - counted.length,
    unplaced,
    rejected: countEach(judged.map(whyRejected)),
    precision: written(meanShare(shares, options)),
  };
}

const whyRejected = ({ rejected, claims }: ClaimsRecord): string | null =>
  rejected ?? (claims.some(isLabelled) ? null : 'none_labelled');

function meanShare(shares: readonly number[], options: BootstrapOptions): Estimate {
  if (shares.length === 0) return { value: Number.NaN, interval: null };
  const [estimate] = bootstrap(
    shares.length,
    (weights) => [mean(shares.map((share, i) => share * weights[i]!))],
    options,
  );
  return estimate!;
}
