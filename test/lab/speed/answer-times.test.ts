import { expect, it } from 'vitest';
import { answerSpeed } from '#lab/speed/answer-times.js';

it('counts from the second token to the last, without the prompt', () => {
  // 3 s for the prompt, a slow second token, then 8 tokens in 400 ms.
  const tokens = [3000, 3500, ...Array.from({ length: 8 }, (_, i) => 3500 + 50 * (i + 1))];
  expect(answerSpeed({ tokens, end: 3900 })).toEqual({ firstSeconds: 3, tokensPerSecond: 20 });
  const shortPrompt = tokens.map((time) => time - 2900);
  expect(answerSpeed({ tokens: shortPrompt, end: 1000 }).tokensPerSecond).toBe(20);
});

it('counts to the last score, where scores come after the tokens', () => {
  const tokens = [100, 200, 300, 400];
  expect(answerSpeed({ tokens, end: 400 }).tokensPerSecond).toBe(10);
  expect(answerSpeed({ tokens, end: 1200 }).tokensPerSecond).toBe(2);
});

it('needs three tokens', () => {
  expect(() => answerSpeed({ tokens: [1, 2], end: 2 })).toThrow('three tokens');
});
