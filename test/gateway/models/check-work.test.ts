import { describe, expect, it } from 'vitest';
import { checkWork } from '#gateway/models/check-work.js';
import { DEFAULT_SCORING, type Scoring } from '#src/index.js';

const SIZE = { prompt: 100, response: 900 };
const windowed = (block: number, window: number | 'all', more: Partial<Scoring> = {}): Scoring => ({
  ...DEFAULT_SCORING,
  ...more,
  schedule: { kind: 'windowed', block, window },
});

/** The most that is refused, and for which field. */
const refusal = (scoring: Scoring) => {
  try {
    checkWork(1, scoring, SIZE);
    return null;
  } catch (error) {
    const [, field, work] =
      /^(\S+): up to (\d+) positions/.exec(String(error).replace('ApiError: ', '')) ?? [];
    return [field, Number(work)];
  }
};

describe('checkWork', () => {
  it.each<[Scoring, string, number]>([
    [windowed(8, 64, { methods: ['nll'] }), 'max_tokens', 2000],
    [windowed(8, 64, { methods: ['adversarial'] }), 'guard.scoring.window', 2000 + 113 * 3 * 64],
    [windowed(1, 'all', { methods: ['adversarial'] }), 'guard.scoring.window', 2000 + 900 * 3 * 1000],
    [
      {
        ...windowed(8, 64),
        methods: ['adversarial'],
        schedule: { kind: 'lazy', block: 8, window: 64, epsilon: 0.01 },
      },
      'guard.scoring.window',
      2000 + 113 * 3 * 64,
    ],
    [windowed(8, 64, { methods: ['random'] }), 'guard.scoring.samples', 2000 + 20 * 1000],
    [windowed(8, 64, { methods: ['nll', 'tokur_eu', 'tokur_au'] }), 'max_tokens', 2000 + 2 * 1000],
  ])('counts positions, and names the largest part (%#)', (scoring, field, work) => {
    expect(refusal(scoring)).toEqual([field, work]);
    expect(() => checkWork(work, scoring, SIZE)).not.toThrow();
    expect(() => checkWork(work - 1, scoring, SIZE)).toThrow(field);
  });

  it('refuses nothing without a limit', () => {
    expect(() => checkWork(undefined, windowed(1, 'all'), SIZE)).not.toThrow();
  });
});
