import { describe, expect, it } from 'vitest';
import { decodeSpeed, timesOfChunks } from '#lab/speed/answer-times.js';

describe('the speed of an answer', () => {
  it('counts from the second token to the last, without the prompt', () => {
    // 3 s for the prompt, a slow second token, then 8 tokens in 400 ms.
    const tokens = [3000, 3500, ...Array.from({ length: 8 }, (_, i) => 3500 + 50 * (i + 1))];
    const speed = decodeSpeed([{ tokens, end: 3900 }]);
    expect(speed).toEqual({ firstSeconds: 3, tokensPerSecond: 20 });
    const shortPrompt = tokens.map((time) => time - 2900);
    expect(decodeSpeed([{ tokens: shortPrompt, end: 1000 }]).tokensPerSecond).toBe(20);
  });

  it('counts to the last score, where scores come after the tokens', () => {
    const tokens = [100, 200, 300, 400];
    expect(decodeSpeed([{ tokens, end: 400 }]).tokensPerSecond).toBe(10);
    expect(decodeSpeed([{ tokens, end: 1200 }]).tokensPerSecond).toBe(2);
  });

  it('adds streams up when all of them have their second token', () => {
    const early = { tokens: [100, 200, 300, 400, 500, 600], end: 600 };
    const late = { tokens: [300, 400, 500, 600, 700, 800], end: 800 };
    // After 400 ms: two tokens of the first and four of the second, and the one of the first at 400 ms.
    expect(decodeSpeed([early, late])).toEqual({ firstSeconds: 0.3, tokensPerSecond: 7 / 0.4 });
    const alike = decodeSpeed([early, early]);
    expect(alike.tokensPerSecond).toBe(2 * decodeSpeed([early]).tokensPerSecond);
  });

  it('needs three tokens', () => {
    expect(() => decodeSpeed([{ tokens: [1, 2], end: 2 }])).toThrow('three tokens');
    expect(() => decodeSpeed([])).toThrow('three tokens');
  });
});

describe('an answer in chunks', () => {
  it('has the times of the chunks, one for each token', () => {
    expect(timesOfChunks([10, 20, 30], 3)).toEqual({ tokens: [10, 20, 30], end: 30 });
  });

  it('has its missing tokens in the last chunk', () => {
    expect(timesOfChunks([10, 20, 30], 5)).toEqual({ tokens: [10, 20, 30, 30, 30], end: 30 });
  });
});
