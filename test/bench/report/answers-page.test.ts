import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bySurprise, renderAnswers, tokenHeats } from '#bench/report/answers-page.js';
import { MADE_UP_ANSWER } from '../../support/made-up-evaluation.js';

const answer = (id: string, correct: boolean | null, score: number | null) => ({
  ...MADE_UP_ANSWER,
  ...{ id, correct, score },
});

describe('the page of answers', () => {
  it('has unsure ones first, then right ones with a high score and wrong ones with a low one', () => {
    const answers = [
      answer('right, lowest', true, 1),
      answer('wrong, highest', false, 9),
      answer('wrong, low', false, 2),
      answer('right, high', true, 8),
      answer('not scored', true, null),
      answer('unsure', null, 3),
    ];
    const [first, ...rest] = bySurprise(answers).map(({ id }) => id);
    expect(first).toBe('unsure');
    expect(rest.slice(0, 2).sort()).toEqual(['right, high', 'wrong, low']);
    expect(rest.at(-1)).toBe('not scored');
  });

  it('may run its own script alone', () => {
    const page = renderAnswers({ title: 't', folder: 'runs/x', score: null, answers: [MADE_UP_ANSWER] });
    const [, script] = /<script>(.*?)<\/script>/s.exec(page)!;
    const hash = createHash('sha256').update(script!).digest('base64');
    expect(page).toContain(`; script-src 'sha256-${hash}'" />`);
    expect(page).toContain('flinch bench report runs/x --labels labels.jsonl');
  });

  it('has tokens of the rank in the response that their score has; ties share it, and the lowest has none', () => {
    const heats = tokenHeats([0, 3, 0, 5, null, 3]);
    expect(heats.map((heat) => heat?.rank)).toEqual([null, 2, null, 1, undefined, 2]);
    expect(heats.map((heat) => heat?.quantile)).toEqual([0, 0.4, 0, 0.8, undefined, 0.4]);
    expect(tokenHeats([1, 1]).every((heat) => heat?.rank === null && heat.quantile === 0)).toBe(true);
  });
});
