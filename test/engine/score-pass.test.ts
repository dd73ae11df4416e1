import { beforeAll, describe, expect, it } from 'vitest';
import { runPass, type Window } from '#src/engine/child/score-pass.js';
import { ScoreCache } from '#src/engine/kv-cache.js';
import { openSession, type Session } from '#src/engine/session.js';
import { type Checkpoint, openCheckpoint } from '#src/model/checkpoint.js';
import { RotaryEmbedding } from '#src/model/rope.js';
import { buildScoreGraph } from '#src/model/score-graph.js';
import { CHECKPOINTS, checkpointFolder, goldenCases, largestDifference } from '../support/golden.js';

describe.each(CHECKPOINTS)('a score pass on %s', (name) => {
  let checkpoint: Checkpoint;
  let session: Session;
  let rotary: RotaryEmbedding;
  const cases = goldenCases(name);

  beforeAll(async () => {
    checkpoint = await openCheckpoint(checkpointFolder(name));
    session = await openSession(buildScoreGraph(checkpoint, { adversary: true }), { threads: 1 });
    rotary = new RotaryEmbedding(checkpoint.config);
  });

  const pass = (windows: readonly Window[]) => runPass(session, checkpoint.config, rotary, windows, 1e-3);

  /** The last `scored` tokens of a golden text, with its first `past` positions in the cache. */
  async function windowOf(index: number, past: number, scored: number): Promise<Window> {
    const { promptIds, responseIds } = cases[index]!;
    const ids = [...promptIds, ...responseIds];
    const cache = new ScoreCache(checkpoint.config, ids.length);
    if (past > 0) {
      const before: Window = { cache, start: 0, ids: ids.slice(0, past), targets: [ids[past]!] };
      cache.append(past, (await pass([before]))[0]!.layers);
    }
    return { cache, start: past, ids: ids.slice(past, -1), targets: ids.slice(-scored) };
  }

  it('gives every text of a batch what it gets alone, whatever the lengths', async () => {
    const windows = [await windowOf(0, 60, 8), await windowOf(1, 0, 3), await windowOf(2, 90, 20)];
    const together = await pass(windows);
    for (const [i, window] of windows.entries()) {
      const [alone] = await pass([window]);
      const { tokens, layers } = together[i]!;
      expect(tokens).toHaveLength(window.targets.length);
      const value = (of: typeof tokens) =>
        of.map((token) => token.adversary!.perturbedLogprob - token.logprob);
      expect(largestDifference(value(tokens), value(alone!.tokens))).toBeLessThan(1e-4);
      expect(tokens.map(({ top }) => top.map(({ id }) => id))).toEqual(
        alone!.tokens.map(({ top }) => top.map(({ id }) => id)),
      );
      expect(layers[0]!.key).toHaveLength(alone!.layers[0]!.key.length);
      expect(largestDifference([...layers[2]!.value], [...alone!.layers[2]!.value])).toBeLessThan(1e-4);
    }
  });

  it('computes the same keys and values from a cache as from the whole text', async () => {
    const [whole] = await pass([await windowOf(0, 0, 8)]);
    const [rest] = await pass([await windowOf(0, 50, 8)]);
    const width = checkpoint.config.kvHeads * checkpoint.config.headDim;
    for (const [layer, { key }] of rest!.layers.entries()) {
      expect(largestDifference([...key], [...whole!.layers[layer]!.key.subarray(50 * width)])).toBeLessThan(
        1e-4,
      );
    }
  });

  it('lists the most probable tokens of the float64 values', async () => {
    const { responseIds, topIds, topLogprob } = cases[0]!;
    const tokens = (await pass([await windowOf(0, 0, responseIds.length)]))[0]!.tokens;
    expect(tokens.map(({ top }) => top.map(({ id }) => id))).toEqual(topIds);
    expect(
      largestDifference(
        tokens.flatMap(({ top }) => top.map(({ logprob }) => logprob)),
        topLogprob.flat(),
      ),
    ).toBeLessThan(1e-4);
  });

  it('names as rival another token, with its clean probability', async () => {
    const [result] = await pass([await windowOf(0, 0, 48)]);
    let compared = 0;
    for (const [i, { adversary, top }] of result!.tokens.entries()) {
      const { id, before, after } = adversary!.rival;
      expect(id).not.toBe(cases[0]!.responseIds[i]);
      expect(after).toBeGreaterThan(before);
      const same = top.find((token) => token.id === id);
      if (!same) continue;
      expect(Math.exp(same.logprob)).toBeCloseTo(before, 5);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(10);
  });
});
