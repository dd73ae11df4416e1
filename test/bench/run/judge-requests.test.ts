import { describe, expect, it } from 'vitest';
import { parseMeasures } from '#bench/measures/parse-measure.js';
import { judgedSizes, requestsEach } from '#bench/run/plan/judge-requests.js';
import { peekRecords } from '#bench/run/run-folder.js';
import { responseOf } from '../../support/bench-records.js';

const TOKENS = 100;
const none = () => peekRecords('/nowhere');

describe('what a judge is going to be asked', () => {
  it('is supposed from the length of a response where nothing is known', async () => {
    expect(judgedSizes({ records: await none() }, TOKENS)).toEqual({
      sentences: 4,
      claims: 16,
      graphClaims: 32,
    });
  });

  it('is the mean of what is known', async () => {
    const records = await none();
    records.responses.add(responseOf('a', ['She was born. ']));
    records.responses.add(responseOf('b', ['She was born. She wrote. She died.']));
    const claim = { claim: 'x', spans: [], supported: true };
    records.claims.add({ id: 'a', by: 'judge', claims: [claim] });
    records.claims.add({ id: 'b', by: 'judge', claims: [claim, claim] });
    // It says nothing of how many claims there are.
    records.claims.add({ id: 'c', by: 'judge', claims: [], rejected: 'unreadable' });
    expect(judgedSizes({ records }, TOKENS)).toEqual({
      sentences: 2,
      claims: 1.5,
      graphClaims: 3,
    });
    const claims = Array.from({ length: 5 }, () => ({ claim: 'x', response: 0 }));
    records.graphs.add({ id: 'a', claims, edges: [], unreadable: 0 });
    expect(judgedSizes({ records }, TOKENS)).toMatchObject({ graphClaims: 5 });
  });

  it.each([
    ['check', 1],
    ['locate', 2],
    // Each sentence, each claim.
    ['claims', 3 + 7],
    // Of 4 further responses the claims, and which are new; 5 responses by 9 claims.
    ['graph', 8 + 45],
    ['score', 0],
  ] as const)('is so many requests for a response in stage %s', (stage, requests) => {
    const sizes = { sentences: 3, claims: 7, graphClaims: 9 };
    const measures = parseMeasures('graph-claims,self_consistency,nll');
    expect(requestsEach(stage, { measures }, sizes)).toBe(requests);
  });
});
