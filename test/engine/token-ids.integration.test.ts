import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_SCORING, type Engine, SequenceScorer, scoreResponse } from '#src/index.js';
import { greedy } from '../support/requests.js';
import { sharedReasoner } from '../support/shared-engines.js';

describe('what the engine is asked', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await sharedReasoner();
  });

  it.each([-1, 1.5, 1e7])(
    'must be of tokens that the model has, before it reaches a run that others share: %s',
    async (id) => {
      await expect(
        engine.generate({ ...greedy(engine, { maxTokens: 3 }), promptIds: [1, id] }),
      ).rejects.toThrow(/^promptIds\[1\]: .* is not in the vocabulary/);
      await expect(scoreResponse(engine, [1], [2, id], DEFAULT_SCORING)).rejects.toThrow(/vocabulary/);
      expect(engine.memory.used).toBe(0);
    },
  );

  it('does not spoil what was asked before', async () => {
    const scorer = await SequenceScorer.open(engine, [1, 2], { ...DEFAULT_SCORING, methods: ['nll'] });
    const response = Array.from({ length: 16 }, () => ({ id: 5 }));
    expect(await scorer.push(response)).toHaveLength(16);
    await expect(scorer.push(Array.from({ length: 16 }, () => ({ id: 1e7 })))).rejects.toThrow(/vocabulary/);
    scorer.close();
  });

  it('is one question about a text at a time', async () => {
    const text = await engine.openSequence();
    const pass = { newIds: [1, 2, 3, 4], start: 0, from: 2, to: 4, adversary: null };
    const first = text.pass(pass);
    await expect(text.pass({ ...pass, newIds: [] })).rejects.toThrow('one request at a time');
    expect((await first).tokens).toHaveLength(2);
    text.release();
  });
});
