import { each } from '../../concurrent-map.js';
import { placeClaim } from '../../judge/place-claim.js';
import type { ClaimsRecord } from '../../records/records.js';
import { isLeftOut } from '../../records/selection.js';
import type { BenchProblem } from '../../suites/suite.js';
import { needsJudge } from '../claim-source.js';
import { type Run, textOf } from '../run-context.js';

/** The claims of each whole response, and which of them are supported. */
export async function judgeClaims(run: Run): Promise<void> {
  const { problems, records, signal } = run;
  const whole = problems.filter(({ id }) => {
    const response = records.responses.get(id);
    return response && !isLeftOut(response);
  });
  const missing = whole.filter(({ id }) => !records.claims.has(id));
  const options = { done: whole.length - missing.length, signal };
  await each(
    'claims',
    missing,
    async (problem) => void records.claims.add(await claimsOf(run, problem)),
    options,
  );
}

async function claimsOf(
  { judge, claims: source, records, suite }: Run,
  { id }: BenchProblem,
): Promise<ClaimsRecord> {
  const text = textOf(records.responses.get(id)!);
  if (source?.by === 'file') {
    const listed = source.listed.get(id);
    if (!listed) return { id, by: 'file', claims: [], rejected: 'unlisted' };
    const claims = listed.map(({ claim, words, supported }) => ({
      claim,
      spans: placeClaim(claim, words, text).map(([from, to]): [number, number] => [from, to]),
      supported,
    }));
    return { id, by: 'file', claims };
  }
  if (!judge) throw needsJudge(suite.name);
  const claims = await judge.claims(id, text, source?.evidence?.get(id) ?? []);
  return claims === null
    ? { id, by: 'judge', claims: [], rejected: 'unreadable' }
    : { id, by: 'judge', claims };
}
