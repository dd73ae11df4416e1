import { describe, expect, it } from 'vitest';
import { chooseMethod, type RatedAnswer } from '#src/risk/method-choice.js';
import type { Method } from '#src/uncertainty/method-names.js';

/** 25 right answers and 25 wrong ones, whose scores by a method are the shift plus a number of 0 to 24. */
function answers(shifts: Partial<Record<Method, (i: number) => number>>): RatedAnswer[] {
  const methods = Object.keys(shifts) as Method[];
  return Array.from({ length: 50 }, (_, n) => {
    const [right, i] = [n < 25, n % 25];
    const score = (method: Method) => i + (right ? 0 : shifts[method]!(i));
    return { right, scores: new Map(methods.map((method) => [method, score(method)])) };
  });
}

describe('chooseMethod', () => {
  it('takes the best one where its lead is clear', () => {
    const rated = answers({ adversarial: () => 30, entropy: () => 2, nll: () => 1 });
    const { chosen, rows, lead, right, wrong } = chooseMethod(rated, ['nll', 'entropy', 'adversarial']);
    expect([chosen, right, wrong]).toEqual(['adversarial', 25, 25]);
    expect(rows.map(({ method }) => method)).toEqual(['adversarial', 'entropy', 'nll']);
    expect(lead.low).toBeGreaterThan(0);
  });

  it('takes the one without passes where it is not', () => {
    const rated = answers({ adversarial: (i) => (i === 3 ? 9 : 6), entropy: () => 6 });
    const { chosen, rows, lead } = chooseMethod(rated, ['adversarial', 'entropy']);
    expect(rows[0]!.method).toBe('adversarial');
    expect(lead.low).toBeLessThanOrEqual(0);
    expect(chosen).toBe('entropy');
  });

  it('takes the first of equal price', () => {
    const rated = answers({ margin: () => 7, entropy: () => 6 });
    expect(chooseMethod(rated, ['entropy', 'margin']).chosen).toBe('margin');
  });
});
