import { beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { Sessions, TOGETHER } from '#src/engine/child/graph-sessions.js';
import { type AttackedWindow, runForward, runScorePass } from '#src/engine/child/score-pass.js';
import { type Runtime, runtimeOf } from '#src/engine/child/sequence-run.js';
import type { Adversary } from '#src/engine/engine-messages.js';
import { KvCache } from '#src/engine/kv-cache.js';
import {
  CHECKPOINTS,
  checkpointFolder,
  goldenCases,
  largestDifference,
  scoreErrors,
} from '../../support/golden.js';
import { keysAndValues } from '../../support/kv-cache.js';

/** As on a CPU, and as on CUDA. */
const GRAPHS = CHECKPOINTS.flatMap((name) => TOGETHER.map((together) => ({ name, together })));

describe.each(GRAPHS)('a score pass on $name ($together)', ({ name, together }) => {
  let checkpoint: Checkpoint;
  let sessions: Sessions;
  let runtime: Runtime;
  const cases = goldenCases(name);

  beforeAll(async () => {
    checkpoint = await openCheckpoint(checkpointFolder(name));
    sessions = new Sessions(checkpoint, { threads: 1, together });
    runtime = runtimeOf({ source: checkpoint, threads: 1 });
  });

  const pass = async (
    windows: readonly AttackedWindow[],
    { form = 'perturb', alpha = 1e-3 }: Partial<Pick<Adversary, 'form' | 'alpha'>> = {},
  ) =>
    runScorePass(await sessions.get({ kind: 'score', sequences: windows.length, form }), runtime, windows, {
      form,
      alpha,
    });
  const forward = async (windows: readonly AttackedWindow[]) =>
    runForward(
      await sessions.get({ kind: 'forward', sequences: windows.length, result: 'statistics' }),
      runtime,
      windows,
    );

  /** The last `scored` tokens of a golden text, with its first `past` positions in the cache. */
  async function windowOf(index: number, past: number, scored: number): Promise<AttackedWindow> {
    const { promptIds, responseIds } = cases[index]!;
    const ids = [...promptIds, ...responseIds];
    const cache = new KvCache(checkpoint.config, ids.length);
    const attacked = Array<boolean>(scored).fill(true);
    if (past > 0) {
      await pass([{ cache, start: 0, ids: ids.slice(0, past), targets: [ids[past]!], attacked: [true] }]);
    }
    return { cache, start: past, ids: ids.slice(past, -1), targets: ids.slice(-scored), attacked };
  }

  it('gives every text of a batch what it gets alone, whatever the lengths', async () => {
    const windows = [await windowOf(0, 60, 8), await windowOf(1, 0, 3), await windowOf(2, 90, 20)];
    const together = await pass(windows);
    const caches = windows.map(({ cache }) => keysAndValues(cache));
    for (const [i, window] of windows.entries()) {
      const [alone] = await pass([window]);
      const tokens = together[i]!;
      expect(tokens).toHaveLength(window.targets.length);
      const value = (of: typeof tokens) => of.map((token) => token.adversary!.fall);
      expect(largestDifference(value(tokens), value(alone!))).toBeLessThan(1e-4);
      const top = (of: typeof tokens) => of.map(({ probability }) => probability!.top.map(({ id }) => id));
      expect(top(tokens)).toEqual(top(alone!));
      expect(largestDifference(caches[i]!, keysAndValues(window.cache))).toBeLessThan(1e-4);
    }
  });

  it('leaves clean keys and values, as a plain forward pass does, whole or in parts', async () => {
    const whole = await windowOf(0, 0, 8);
    const plain = await forward([whole]);
    const clean = keysAndValues(whole.cache);
    for (const past of [0, 50]) {
      const window = await windowOf(0, past, 8);
      const [tokens] = await pass([window]);
      expect(largestDifference(keysAndValues(window.cache), clean)).toBeLessThan(1e-4);
      expect(
        largestDifference(
          tokens!.map(({ probability }) => probability!.logprob),
          plain[0]!.map(({ probability }) => probability!.logprob),
        ),
      ).toBeLessThan(1e-4);
    }
  });

  it('attacks only what it is told to', async () => {
    const window = await windowOf(0, 60, 8);
    const values = async (attacked: boolean[]) =>
      (await pass([{ ...window, attacked }]))[0]!.map(({ adversary }) => adversary!.fall);
    const last = Array.from({ length: 8 }, (_, i) => i === 7);
    const [all, one, none] = [
      await values([...window.attacked]),
      await values(last),
      await values(last.map(() => false)),
    ];
    expect(one[7]).toBeGreaterThan(all[7]!);
    // Two kernels of attention: what is left is rounding.
    expect(Math.max(...none.map(Math.abs))).toBeLessThan(5e-5);
  });

  it('finds the same rivals by the derivative as by a small step', async () => {
    const window = await windowOf(0, 60, 40);
    const rivals = async (form: 'perturb' | 'derivative') =>
      (await pass([window], { form, alpha: 1e-4 }))[0]!.map(({ adversary }) => adversary!.rival);
    const [exact, first] = [await rivals('perturb'), await rivals('derivative')];
    const same = first.filter(({ id }, i) => id === exact[i]!.id);
    expect(same.length).toBeGreaterThanOrEqual(39); // two may grow alike
    const growth = (of: typeof exact) => of.map(({ before, after }) => after - before);
    expect(scoreErrors(growth(first), growth(exact)).all).toBeLessThan(0.05); // second order in α
  });

  it('names as rival another token, with its clean probability', async () => {
    const [result] = await pass([await windowOf(0, 0, 48)]);
    let compared = 0;
    for (const [i, { adversary, probability }] of result!.entries()) {
      const { id, before, after } = adversary!.rival;
      expect(id).not.toBe(cases[0]!.responseIds[i]);
      expect(after).toBeGreaterThan(before);
      const same = probability!.top.find((token) => token.id === id);
      if (!same) continue;
      expect(Math.exp(same.logprob)).toBeCloseTo(before, 5);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(10);
  });
});
