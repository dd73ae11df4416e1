import { beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { ChunkedPass } from '#src/engine/child/chunked-pass.js';
import { Sessions, TOGETHER } from '#src/engine/child/graph-sessions.js';
import { type AttackedWindow, runScorePass } from '#src/engine/child/score-pass.js';
import { type Runtime, runSequences, runtimeOf } from '#src/engine/child/sequence-run.js';
import type { Adversary, PassToken } from '#src/engine/engine-messages.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { longs } from '#src/engine/ort-session.js';
import {
  checkpointFolder,
  FAMILY_CHECKPOINTS,
  type GoldenCase,
  goldenCases,
  largestDifference,
  parseScheduleKey,
  scoreErrors,
} from '../../support/golden.js';
import { FP32 } from '../../support/golden-tests.js';

type Form = Pick<Adversary, 'form' | 'alpha'>;

/** As on a CPU, and as on CUDA. */
const GRAPHS = FAMILY_CHECKPOINTS.flatMap((name) => TOGETHER.map((together) => ({ name, together })));

describe.each(GRAPHS)('$name agrees with transformers in float64 ($together)', ({ name, together }) => {
  let checkpoint: Checkpoint;
  let sessions: Sessions;
  let runtime: Runtime;
  const cases = goldenCases(name).map((golden, i) => ({ ...golden, i }));

  beforeAll(async () => {
    checkpoint = await openCheckpoint(checkpointFolder(name));
    sessions = new Sessions(checkpoint, { threads: 1, together });
    runtime = runtimeOf({ source: checkpoint, threads: 1 });
  });

  const pass = async (window: AttackedWindow, { form, alpha }: Form): Promise<readonly PassToken[]> => {
    const session = await sessions.get({ kind: 'score', sequences: 1, form });
    return (await runScorePass(session, runtime, [window], { form, alpha }))[0]!;
  };
  const falls = (tokens: readonly PassToken[]) => tokens.map(({ adversary }) => adversary!.fall);
  const idsOf = ({ promptIds, responseIds }: GoldenCase) => [...promptIds, ...responseIds];

  /** The whole text, all of its response attacked. */
  function offline(golden: GoldenCase): AttackedWindow {
    const ids = idsOf(golden);
    const { responseIds } = golden;
    const cache = new KvCache(checkpoint.config, ids.length);
    return {
      cache,
      start: 0,
      ids: ids.slice(0, -1),
      targets: responseIds,
      attacked: responseIds.map(() => true),
    };
  }

  it.each(cases)('case $i: probabilities and offline scores', async (golden) => {
    const tokens = await pass(offline(golden), { form: 'perturb', alpha: golden.alpha });
    const of = (key: 'logprob' | 'entropy' | 'margin') => tokens.map((token) => token.probability![key]);
    expect(largestDifference(of('logprob'), golden.logprob)).toBeLessThan(FP32.logprob);
    expect(largestDifference(of('entropy'), golden.entropy)).toBeLessThan(FP32.entropy);
    expect(largestDifference(of('margin'), golden.margin)).toBeLessThan(FP32.margin);
    expect(tokens.map(({ probability }) => probability!.top.map(({ id }) => id))).toEqual(golden.topIds);
    expect(scoreErrors(falls(tokens), golden.adv).all).toBeLessThan(FP32.adversarial);
    const small = await pass(offline(golden), { form: 'perturb', alpha: 1e-4 });
    expect(scoreErrors(falls(small), golden.advAlpha1em4).all).toBeLessThan(FP32.adversarialSmall);
  });

  it.each(cases)('case $i: windowed scores', async (golden) => {
    const ids = idsOf(golden);
    for (const [key, expected] of Object.entries(golden.windowed)) {
      const { block, window } = parseScheduleKey(key);
      const { cache } = offline(golden);
      const scores: number[] = [];
      for (let start = golden.promptIds.length; start < ids.length; start += block) {
        const end = Math.min(start + block, ids.length);
        const first = window === 'all' ? 0 : Math.max(0, end - 1 - window);
        if (cache.length < first)
          await pass(windowOf(cache, ids, cache.length, first + 1, 1), { form: 'perturb', alpha: 1 });
        const part = windowOf(cache, ids, first, end, end - start);
        scores.push(...falls(await pass(part, { form: 'perturb', alpha: golden.alpha })));
      }
      expect(scoreErrors(scores, expected.adversarial).all, key).toBeLessThan(FP32.adversarial);
    }
  });

  it.each(cases)('case $i: derivatives', async (golden) => {
    const tokens = await pass(offline(golden), { form: 'derivative', alpha: 1 });
    expect(scoreErrors(falls(tokens), golden.jvp).all).toBeLessThan(1e-4);
    const sum = falls(tokens).reduce((a, b) => a + b, 0);
    expect(sum / golden.gradL1Total).toBeCloseTo(1, 5);
  });

  it.each(['perturb', 'derivative'] as const)('in chunks: %s', async (form) => {
    const golden = cases[1]!;
    const slow = { ...runtime, threads: 1e-9 };
    const alpha = form === 'perturb' ? golden.alpha : 1;
    const steps = new ChunkedPass({ sessions, runtime: slow }, offline(golden), { form, alpha }).steps();
    let step = steps.next();
    for (; !step.done; step = steps.next()) await step.value();
    const [expected, bound] = form === 'perturb' ? [golden.adv, FP32.adversarial] : [golden.jvp, 1e-4];
    expect(scoreErrors(falls(step.value), expected).all).toBeLessThan(bound);
  });

  it.each(cases)('case $i: greedy continuation', async ({ promptIds, greedyIds }) => {
    const session = await sessions.get({ kind: 'forward', sequences: 1, result: 'logprobs' });
    const cache = new KvCache(checkpoint.config, promptIds.length + greedyIds.length);
    let ids: readonly number[] = promptIds;
    const found: number[] = [];
    while (found.length < greedyIds.length) {
      const sequence = { cache, start: cache.length, ids };
      const rows = { rows: longs([ids.length - 1], [1]) };
      const logprobs = (await runSequences(session, runtime, [sequence], rows, ['logprobs'])).floats(
        'logprobs',
      );
      ids = [logprobs.indexOf(Math.max(...logprobs))];
      found.push(ids[0]!);
    }
    expect(found).toEqual(greedyIds);
  });
});

/** Positions `first` to `end − 2`, the last `scored` of which are followed by tokens that are scored. */
function windowOf(
  cache: KvCache,
  ids: readonly number[],
  first: number,
  end: number,
  scored: number,
): AttackedWindow {
  const targets = ids.slice(end - scored, end);
  return { cache, start: first, ids: ids.slice(first, end - 1), targets, attacked: targets.map(() => true) };
}
