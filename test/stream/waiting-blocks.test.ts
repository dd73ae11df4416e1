import { describe, expect, it } from 'vitest';
import type { NewToken } from '#src/index.js';
import { WaitingBlocks } from '#src/stream/waiting-blocks.js';

/** Blocks of tokens with these log-probabilities, and what is taken of them: ids, those of a block passed over as a string. */
function taken(blocks: readonly (readonly (number | undefined)[])[], most: number, size = 2) {
  const waiting = new WaitingBlocks<NewToken>(size, most);
  let id = 0;
  for (const logprobs of blocks) {
    for (const [i, logprob] of logprobs.entries()) {
      waiting.push({ id: id++, begins: i === 0, ...(logprob !== undefined && { logprob }) });
    }
  }
  waiting.end();
  const all: (string | number[])[] = [];
  for (let block = waiting.take(); block; block = waiting.take()) {
    const ids = block.tokens.map((token) => token.id);
    all.push(block.passedOver ? ids.join(' ') : ids);
  }
  return all;
}

describe('WaitingBlocks', () => {
  it('passes over nothing while no more tokens wait than may', () => {
    expect(
      taken(
        [
          [-1, -1],
          [-1, -1],
        ],
        4,
      ),
    ).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('passes over the block whose least probable token is the most probable, in its place', () => {
    const blocks = [
      [-0.5, -0.5],
      [-0.4, -0.1],
      [-0.01, -3],
    ];
    expect(taken(blocks, 4)).toEqual([[0, 1], '2 3', [4, 5]]);
    expect(taken(blocks, 3)).toEqual(['0 1', '2 3', [4, 5]]);
  });

  it('passes over the oldest of those of which nothing is known, and only after those that are known', () => {
    const unknown = [undefined, -0.1];
    expect(taken([unknown, unknown, unknown], 4)).toEqual(['0 1', [2, 3], [4, 5]]);
    expect(taken([unknown, [-9, -9], unknown], 4)).toEqual([[0, 1], '2 3', [4, 5]]);
  });

  it('counts tokens, not blocks, and leaves one block in any case', () => {
    expect(taken([[-1], [-0.1], [-1, -1]], 3)).toEqual([[0], '1', [2, 3]]);
    expect(taken([[-1, -1], [-2, -2], [-1.5]], 2)).toEqual(['0 1', [2, 3], '4']);
  });

  it('ends blocks at their size, where a token begins, and with the response', () => {
    const waiting = new WaitingBlocks<NewToken>(2, 100);
    const whole = [{}, {}, {}, { begins: true }, {}, {}].map((token, id) => waiting.push({ id, ...token }));
    expect(whole).toEqual([false, true, false, true, true, false]);
    expect(waiting.end()).toBe(true);
    expect(waiting.end()).toBe(false);
    const sizes = [1, 2, 3, 4].map(() => waiting.take()?.tokens.map(({ id }) => id));
    expect(sizes).toEqual([[0, 1], [2], [3, 4], [5]]);
    expect(waiting.take()).toBeNull();
  });

  it('says of a block of one that it is whole', () => {
    const waiting = new WaitingBlocks<NewToken>(1, 1);
    expect([waiting.push({ id: 0, begins: true }), waiting.push({ id: 1, begins: true })]).toEqual([
      true,
      true,
    ]);
  });
});
