import { describe, expect, it } from 'vitest';
import { adviceWords, verdictWords } from '#client/verdict-words.js';
import { VERDICT } from './fake-server.js';

describe('the verdict in words', () => {
  it.each([
    [{ flagged: true, risk: 0.99, reason: null }, 'answer flagged: higher than 99.0 % of ordinary answers'],
    [{ flagged: false, risk: 0.5, reason: null }, 'answer not flagged: higher than 50 % of ordinary answers'],
    [{ flagged: true, risk: null, reason: 'stopped' }, 'answer flagged'],
    [{ flagged: null, risk: 0.4, reason: 'unscored_tokens' }, 'answer not judged: some tokens have no score'],
    [
      { flagged: null, risk: 0.9, reason: 'too_few_answers', rate: 0.02, calibrated: true },
      'answer not judged: the calibration has too few answers: a rate of 2 % needs 49',
    ],
    [
      { flagged: null, risk: null, reason: 'too_few_answers', rate: 0.02, calibrated: false },
      'answer not judged: too few ordinary answers are known',
    ],
  ])('%j', (verdict, words) => {
    expect(verdictWords(verdict)).toBe(words);
  });
});

describe('the advice in words', () => {
  const unusual = { ...VERDICT, advice: 'check', flagged: true } as const;
  const unknown = { ...VERDICT, advice: null, flagged: null, reason: 'unscored_tokens' } as const;
  it.each([
    [VERDICT, [], 'Looks ordinary. It can still be wrong.'],
    [VERDICT, [1], 'Worth checking: step 2. The answer as a whole looks ordinary.'],
    [VERDICT, [0, 1, 3], 'Worth checking: steps 1, 2 and 4. The answer as a whole looks ordinary.'],
    [unusual, [1], 'Check this. The answer as a whole is unusual, and so is step 2.'],
    [unusual, [1, 2], 'Check this. The answer as a whole is unusual, and so are steps 2 and 3.'],
    [unusual, [], 'Check this. The answer as a whole is unusual, but no single step of it.'],
    [{ ...unusual, reason: 'stopped' }, [1], 'Check this. The guard stopped the answer at a doubtful step.'],
    [unknown, [], 'Not judged. Some tokens have no score.'],
    [unknown, [1], 'Worth checking: step 2. The answer as a whole is not judged: some tokens have no score.'],
    [
      { ...VERDICT, advice: 'check', flagged_steps: 1 },
      [],
      'Worth checking. A step that is not shown is unusual; the answer as a whole looks ordinary.',
    ],
  ] as const)('%j with the flagged steps %j', (verdict, flagged, words) => {
    const { head, why } = adviceWords(verdict, flagged);
    expect(`${head}. ${why}`).toBe(words);
  });
});
