import { describe, expect, it } from 'vitest';
import { type ClaimRecords, evaluateClaims } from '#bench/evaluate/claim-measures.js';
import type { ClaimsRecord, ScoreRecord } from '#bench/records/records.js';
import { responseSteps } from '#bench/steps/response-steps.js';
import { byId, inTurn, problemOf, responseOf } from '../../support/bench-records.js';

const TOKENS = ['Ada', ' was', ' born', '.', ' She', ' wrote', '.'];

type Claim = ClaimsRecord['claims'][number];
const claim = (supported: boolean | null, ...spans: [number, number][]): Claim => ({
  claim: 'x',
  spans,
  supported,
});

const CLAIMS: ClaimsRecord[] = [
  {
    id: 'a',
    by: 'judge',
    claims: [
      // "Ada", a part of it again, and "born".
      claim(true, [0, 3], [1, 3], [8, 12]),
      claim(false, [14, 17]),
      claim(null, [0, 3]),
      claim(true),
    ],
  },
  {
    id: 'b',
    by: 'judge',
    // Of the first most is in the second step.
    claims: [claim(true, [0, 3], [14, 23]), claim(false, [0, 12]), claim(true, [12, 13])],
  },
  { id: 'd', by: 'judge', claims: [], rejected: 'unreadable' },
  { id: 'e', by: 'judge', claims: [claim(null, [0, 3])] },
];

const score = (
  id: string,
  adversarial: (number | null)[],
  nll: number[],
  graph: [number, number],
  ofClaims: number[],
): ScoreRecord => ({
  id,
  steps: [],
  tokens: { adversarial, nll },
  stepScores: { graph },
  response: {},
  claimScores: { 'graph-claims': ofClaims },
});
// Claims that do not count have scores, too.
const A = score('a', [0, 0, 0, 0, 1, 0, 0], [1, 2, 3, 4, 5, 6, 7], [1, 2], [-0.5, -0.2, -0.9, -0.1]);
const B = score('b', [null, null, null, 5, 0, null, null], [0, 0, 0, 0, 9, 0, 0], [3, 1], [-0.4, -0.3, 0]);

function recordsOf(scores: readonly ScoreRecord[]): ClaimRecords {
  const responses = ['a', 'b', 'c', 'd', 'e'].map((id) =>
    responseOf(id, TOKENS, { finish: id === 'c' ? 'length' : 'stop' }),
  );
  return {
    problems: responses.map(({ id }) => problemOf(id)),
    responses: byId(responses),
    claims: byId(CLAIMS),
    scores: inTurn(scores),
    times: [],
  };
}

const evaluated = (
  scores: readonly ScoreRecord[],
  measures = ['adversarial', 'nll', 'graph', 'graph-claims'],
) =>
  evaluateClaims(recordsOf(scores), {
    measures,
    stepsOf: (_, { tokenTexts }) => responseSteps(tokenTexts, 'sentence'),
    bootstrap: { resamples: 200, seed: 1 },
  });
const tables = await evaluated([B, A]);

describe('evaluateClaims', () => {
  it.each([
    // Supported 4, 9, 0; unsupported 5, 0.
    ['nll', 'sum', 2.5 / 6],
    // Supported 2, 3, 0; unsupported 5, 0.
    ['nll', 'mean', 3.5 / 6],
    // Supported 3, 9, 0; unsupported 5, 0.
    ['nll', 'max', 2.5 / 6],
    // The steps they are in: supported 1, 1, 3; unsupported 2, 3.
    ['graph', 'own', 4.5 / 6],
    // Their own: supported -0.5, -0.4, 0; unsupported -0.2, -0.3.
    ['graph-claims', 'own', 4 / 6],
    // Their tokens: supported 2, 3, 1; unsupported 1, 3.
    ['longest', 'own', 3 / 6],
    ['chance', 'own', 0.5],
    // Of tokens that were not attacked, −∞: supported 0, 0, 5; unsupported 1, −∞.
    ['adversarial', 'sum', 2 / 6],
  ])('tells unsupported claims from supported ones by %s, %s', (measure, aggregation, auroc) => {
    const rows = tables.claims.filter((row) => row.measure === measure && row.aggregation === aggregation);
    expect(rows).toEqual([expect.objectContaining({ scope: 'all', n: 5, positives: 2 })]);
    expect(rows[0]!.auroc.value).toBeCloseTo(auroc, 12);
  });

  it('has average precision, which by chance is the share of unsupported claims', () => {
    const precision = (measure: string, aggregation: string) =>
      tables.claims.find((row) => row.measure === measure && row.aggregation === aggregation)!
        .averagePrecision.value;
    expect(precision('chance', 'own')).toBeCloseTo(2 / 5, 12);
    // 9−, 5+, 4−, then 0+ and 0− together.
    expect(precision('nll', 'sum')).toBeCloseTo(0.5 * (1 / 2) + 0.5 * (2 / 5), 12);
    expect(tables.claims.map(({ measure, aggregation }) => `${measure} ${aggregation}`)).not.toContain(
      'nll own',
    );
  });

  it('compares the measures on the same claims, resampled by response', () => {
    expect(
      tables.paired.find((row) => row.metric === 'auroc' && row.b === 'nll' && row.aggregation === 'sum'),
    ).toMatchObject({
      level: 'claim',
      a: 'adversarial',
      n: 5,
      test: 'bootstrap',
      difference: { value: expect.closeTo((2 - 2.5) / 6, 12) },
    });
  });

  it('counts what became of responses and claims', () => {
    const [counts] = tables.claimCounts;
    expect(counts).toMatchObject({
      scope: 'all',
      problems: 5,
      truncated: 1,
      responses: 2,
      supported: 3,
      unsupported: 2,
      unlabelled: 2,
      unplaced: 1,
      rejected: { unreadable: 1, none_labelled: 1 },
    });
    expect(counts!.precision.value).toBeCloseTo((1 / 2 + 2 / 3) / 2, 12);
    // Drawn anew it is one response's, or the other's, or both.
    expect(counts!.precision.interval).toEqual([0.5, expect.closeTo(2 / 3, 12)]);
    expect(tables.counts).toEqual([]);
  });

  it('refuses a response whose scores are not all there', async () => {
    await expect(evaluated([A], ['adversarial', 'ccp'])).rejects.toThrow('a: has no scores of ccp');
    const short = { ...A, claimScores: { 'graph-claims': [-0.5, -0.2] } };
    await expect(evaluated([short])).rejects.toThrow('a: has 2 scores of graph-claims for 4 claims');
  });
});
