import { beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { ChunkedPass } from '#src/engine/child/chunked-pass.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { type AttackedWindow, runScorePass, type Step, type Top } from '#src/engine/child/score-pass.js';
import { type Runtime, runtimeOf } from '#src/engine/child/sequence-run.js';
import type { PassToken } from '#src/engine/engine-messages.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { CHECKPOINTS, checkpointFolder, goldenCases, largestDifference } from '../../support/golden.js';
import { keysAndValues } from '../../support/kv-cache.js';

describe.each(CHECKPOINTS)('a score pass in chunks, on %s', (name) => {
  const { promptIds, responseIds } = goldenCases(name)[0]!;
  const ids = [...promptIds, ...responseIds];
  let checkpoint: Checkpoint;
  let sessions: Sessions;
  let runtime: Runtime;

  beforeAll(async () => {
    checkpoint = await openCheckpoint(checkpointFolder(name));
    sessions = new Sessions(checkpoint, { threads: 1 });
    runtime = runtimeOf({ source: checkpoint, threads: 1 });
  });

  /** So slow a machine that a run has no more rows than it must. */
  const slow = (): Runtime => ({ ...runtime, threads: 1e-9 });

  /** The last 60 rows, with what is before them in the cache or with them. */
  async function windowFrom(start: number, scored: number): Promise<AttackedWindow> {
    const cache = new KvCache(checkpoint.config, ids.length);
    const attacked = Array.from({ length: scored }, (_, i) => i % 3 !== 1);
    const before = { cache, start: 0, ids: ids.slice(0, start), targets: [ids[start]!], attacked: [true] };
    if (start > 0) await whole(before, { form: 'perturb', alpha: 1e-3 });
    return { cache, start, ids: ids.slice(start, -1), targets: ids.slice(-scored), attacked };
  }

  const falls = (tokens: readonly PassToken[]) => tokens.map(({ adversary }) => adversary!.fall);

  const whole = async (window: AttackedWindow, step: Step, most: Top = {}) => {
    const session = await sessions.get({ kind: 'score', sequences: 1, form: step.form, ...most });
    return (await runScorePass(session, runtime, [window], step))[0]!;
  };

  async function inChunks(window: AttackedWindow, step: Step, most: Top = {}) {
    let runs = 0;
    const steps = new ChunkedPass({ sessions, runtime: slow() }, window, step, most).steps();
    for (;;) {
      const next = steps.next();
      if (next.done) return { tokens: next.value, runs };
      await next.value();
      runs += 1;
    }
  }

  it.each([
    ['perturb', 0, 48, {}],
    ['perturb', 40, 8, { top: 10 }],
    ['derivative', 0, 48, {}],
    ['derivative', 40, 8, { top: 10 }],
  ] as const)('gives what one run gives: %s from %i, %i tokens, %j', async (form, start, scored, most) => {
    const step = { form, alpha: 1e-3 } as const;
    const reference = await windowFrom(start, scored);
    const expected = await whole(reference, step, most);
    const window = await windowFrom(start, scored);
    const { tokens, runs } = await inChunks(window, step, most);
    const top = 'top' in most ? most.top : 5;
    expect(tokens.map(({ probability }) => probability!.top.length)).toEqual(tokens.map(() => top));
    expect(runs).toBeGreaterThanOrEqual(3 * Math.ceil((ids.length - start) / 16));
    expect(window.cache.length).toBe(ids.length - 1);

    const scale = Math.max(...falls(expected));
    expect(largestDifference(falls(tokens), falls(expected)) / scale).toBeLessThan(1e-3);
    const numbers = ({ probability, adversary }: (typeof tokens)[number]) => [
      probability!.logprob,
      probability!.entropy,
      probability!.margin,
      adversary!.rival.before,
      adversary!.rival.after,
    ];
    expect(largestDifference(tokens.flatMap(numbers), expected.flatMap(numbers))).toBeLessThan(1e-4);
    const named = (of: typeof tokens) =>
      of.map(({ adversary, probability }) => [adversary!.rival.id, probability!.top.map(({ id }) => id)]);
    expect(named(tokens)).toEqual(named(expected));
    // What comes after it finds clean keys and values.
    expect(largestDifference(keysAndValues(window.cache), keysAndValues(reference.cache))).toBeLessThan(1e-4);
  });
});
