import { beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  type Engine,
  encodePrompt,
  METHODS,
  type NewToken,
  type Scoring,
  SequenceScorer,
  type TokenScore,
} from '#src/index.js';
import { LONG_QUESTION } from '../support/requests.js';
import { sharedReasoner } from '../support/shared-engines.js';

const BLOCK = 16;
/** Those between the first and the last are more than a window of 64. */
const BLOCKS = 7;

describe('SequenceScorer.passOver', () => {
  let engine: Engine;
  let promptIds: readonly number[];
  let blocks: readonly (readonly NewToken[])[];
  beforeAll(async () => {
    engine = await sharedReasoner();
    promptIds = encodePrompt(engine.checkpoint, [{ role: 'user', content: LONG_QUESTION }]);
    const ids = Array.from({ length: BLOCK * BLOCKS }, (_, i) => promptIds[(7 * i) % promptIds.length]!);
    blocks = Array.from({ length: BLOCKS }, (_, i) =>
      ids.slice(BLOCK * i, BLOCK * (i + 1)).map((id) => ({ id })),
    );
  });

  async function scored(scoring: Scoring, passesOver: (block: number) => boolean) {
    const scorer = await SequenceScorer.open(engine, promptIds, scoring);
    const scores: TokenScore[] = [];
    try {
      for (const [i, tokens] of blocks.entries()) {
        if (passesOver(i)) {
          const passed = await scorer.passOver(tokens);
          const indices = tokens.map((_, k) => BLOCK * i + k);
          expect(passed).toEqual(
            indices.map((index) => ({ index, scores: {}, skipped: scoring.methods, rival: null })),
          );
        } else scores.push(...(await scorer.push(tokens)), ...(await scorer.finish()));
      }
    } finally {
      scorer.close();
    }
    return { scores, positions: scorer.positions };
  }

  it.each<[string, Scoring]>([
    ['the default schedule', DEFAULT_SCORING],
    [
      'a window of all positions',
      { ...DEFAULT_SCORING, schedule: { kind: 'windowed', block: 8, window: 'all' } },
    ],
    ['every method', { ...DEFAULT_SCORING, methods: METHODS, random: { sigma: 1e-3, samples: 4, seed: 0 } }],
  ])('leaves the scores of all other tokens as they are without it: %s', async (_name, scoring) => {
    const all = await scored(scoring, () => false);
    const byIndex = new Map(all.scores.map((score) => [score.index, score]));
    for (const passesOver of [
      (i: number) => i % 2 === 0, // the first of all, and each second one
      (i: number) => i > 0 && i < BLOCKS - 1, // more than a window
    ]) {
      const some = await scored(scoring, passesOver);
      const kept = all.scores.filter(({ index }) => !passesOver(Math.floor(index / BLOCK)));
      expect(some.scores.map(({ index }) => index)).toEqual(kept.map(({ index }) => index));
      let largest = 0;
      for (const { index, scores, skipped, rival } of some.scores) {
        const expected = byIndex.get(index)!;
        expect(skipped).toEqual(expected.skipped);
        expect(rival?.id).toBe(expected.rival?.id);
        for (const method of scoring.methods) {
          if (scores[method] === undefined) continue;
          largest = Math.max(largest, Math.abs(scores[method] - expected.scores[method]!));
        }
      }
      // Keys and values of the context are computed in runs of another size, which round otherwise.
      expect(largest).toBeLessThan(2e-5);
      expect(some.positions).toBeLessThan(all.positions);
    }
  });

  it('is not possible while tokens wait for a score', async () => {
    const scorer = await SequenceScorer.open(engine, promptIds, DEFAULT_SCORING);
    try {
      await scorer.push([{ id: 1 }]);
      await expect(scorer.passOver([{ id: 2 }])).rejects.toThrow('token 0 waits for its score');
    } finally {
      scorer.close();
    }
  });

  it('leaves another continuation of the text to be scored from there on', async () => {
    const scorer = await SequenceScorer.open(engine, promptIds, DEFAULT_SCORING, undefined, 1);
    try {
      await scorer.push(blocks[0]!);
      await scorer.passOver(blocks[1]!);
      const fork = await scorer.fork(2 * BLOCK);
      const continued = [...(await scorer.push(blocks[2]!))];
      expect(await fork.push(blocks[2]!)).toEqual(continued);
      expect(continued.map(({ index }) => index)).toEqual(blocks[2]!.map((_, k) => 2 * BLOCK + k));
      fork.close();
    } finally {
      scorer.close();
    }
  });
});
