import { describe, expect, it } from 'vitest';
import { Agreement } from '#gateway/upstream/alignment/agreement.js';

/** Generations of so many tokens each, of which scorer and server say what differs by so much; events of each. */
function generations(agreement: Agreement, count: number, tokens: number, difference: number) {
  return Array.from({ length: count }, () => {
    const one = agreement.begin();
    for (let i = 0; i < tokens; i++) one.compare(-1, -1 - difference);
    return one.take();
  });
}

describe('whether scorer and server agree', () => {
  it('is judged over many answers too, where each is too short', () => {
    const agreement = new Agreement(() => {});
    const found = generations(agreement, 100, 5, 1);
    expect(found.map(({ length }) => length)).toEqual([0, 0, 0, ...Array(97).fill(1)]);
    expect(found.at(-1)).toEqual([{ type: 'scorer.mismatch', tokens: 200, difference: 1, tolerance: 0.2 }]);
    expect(agreement.state).toMatchObject({ mismatches: 97, tokens: 500 });
  });

  it('short answers that agree are not held responsible for those before them', () => {
    const agreement = new Agreement(() => {});
    generations(agreement, 1, 60, 1);
    expect(generations(agreement, 20, 5, 0.01).flat()).toEqual([]);
  });

  it('is doubted until as many tokens agree as are looked back upon', () => {
    const agreement = new Agreement(() => {});
    generations(agreement, 10, 60, 0.01);
    expect(agreement.doubtful).toBe(false);
    generations(agreement, 1, 16, 0.5);
    expect(agreement.doubtful).toBe(true);
    generations(agreement, 1, 199, 0.01);
    expect(agreement.doubtful).toBe(true);
    generations(agreement, 1, 1, 0.01);
    expect(agreement.doubtful).toBe(false);
  });

  it('stays doubted while later answers go on as badly', () => {
    const agreement = new Agreement(() => {});
    generations(agreement, 1, 1000, 1);
    expect(agreement.state.mismatches).toBe(1);
    expect(agreement.doubtful).toBe(true);
  });

  it('a token tells little, and one that the server calls impossible nothing', () => {
    const agreement = new Agreement(() => {});
    const one = agreement.begin();
    for (let i = 0; i < 15; i++) one.compare(-1, -1);
    one.compare(-1, -100);
    for (const none of [null, -9999, -1e30]) one.compare(-1, none);
    expect(one.take()).toEqual([]);
    expect(agreement.state).toMatchObject({ tokens: 16, difference: 2 / 16 });
  });
});
