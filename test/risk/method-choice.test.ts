import { describe, expect, it } from 'vitest';
import { chooseMethod, type RatedAnswer } from '#src/risk/method-choice.js';
import type { Statistic } from '#src/risk/risk.js';
import type { Method } from '#src/uncertainty/method-names.js';

type Shifts = Partial<Record<Method, Partial<Record<Statistic, number>>>>;

/** 25 right answers with the scores 0 to 24, and 25 wrong ones, whose scores in a way are higher by the shift. */
function answers(shifts: Shifts): RatedAnswer[] {
  const methods = Object.keys(shifts) as Method[];
  return Array.from({ length: 50 }, (_, n) => {
    const [right, i] = [n < 25, n % 25];
    const scores = (method: Method): Record<Statistic, number> => {
      const by = (statistic: Statistic): number => i + (right ? 0 : (shifts[method]![statistic] ?? 0));
      return { sum: by('sum'), mean: by('mean'), max: by('max') };
    };
    return { right, scores: new Map(methods.map((method) => [method, scores(method)])) };
  });
}

describe('chooseMethod', () => {
  it('takes the method and the statistic that tell answers apart best', () => {
    const rated = answers({ nll: { sum: 1 }, entropy: { sum: 2, mean: 30 } });
    const { chosen, rows, unseen, right, wrong } = chooseMethod(rated, ['nll', 'entropy']);
    expect([chosen, right, wrong]).toEqual([{ method: 'entropy', statistic: 'mean' }, 25, 25]);
    expect(rows[0]).toMatchObject({ ...chosen, auroc: { value: 1 } });
    expect(rows).toHaveLength(6);
    expect(unseen.any.value).toBeGreaterThan(0.99);
    expect(unseen.lead.low).toBeGreaterThan(0);
  });

  it('stays with sums, by the best method, where another statistic is no better on unseen answers', () => {
    const rated = answers({ nll: { sum: 5, mean: 5 }, entropy: { sum: 9, mean: 9 } });
    expect(chooseMethod(rated, ['nll', 'entropy']).chosen).toEqual({ method: 'entropy', statistic: 'sum' });
  });

  it('is not misled by one that is better on known answers alone', () => {
    // By chance the mean is better in four of five parts of the answers each time, and useless in the fifth.
    const rated = answers({ nll: { sum: 6 } }).map((answer, i) => {
      const { sum } = answer.scores.get('nll')!;
      const mean = answer.right ? i % 25 : (i % 25) + ((i % 25) % 5 === 0 ? -30 : 8);
      return { ...answer, scores: new Map([['nll' as const, { sum, mean, max: 0 }]]) };
    });
    const { chosen, unseen } = chooseMethod(rated, ['nll']);
    expect(unseen.lead.value).toBeLessThanOrEqual(0);
    expect(chosen.statistic).toBe('sum');
  });

  it('takes the first of equals', () => {
    const rated = answers({ margin: { sum: 6 }, entropy: { sum: 6 } });
    expect(chooseMethod(rated, ['entropy', 'margin']).chosen.method).toBe('entropy');
  });
});
