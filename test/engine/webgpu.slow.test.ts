import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { probeDecode, probeScore } from '#src/engine/child/probe-passes.js';
import type { OpenedGraph } from '#src/engine/ort-session.js';
import {
  DEFAULT_METHODS,
  Engine,
  openCheckpoint,
  type Schedule,
  type Scoring,
  scoreResponse,
} from '#src/index.js';
import {
  CHECKPOINTS,
  checkpointFolder,
  goldenCases,
  largestDifference,
  parseScheduleKey,
  scoreErrors,
} from '../support/golden.js';
import { hasAdapter } from '../support/webgpu.js';

const adapter = await hasAdapter('webgpu.slow.test.ts');

/** The tolerances are those of the CPU; on Mesa's lavapipe the differences were a tenth of them. */
describe.skipIf(!adapter).each(CHECKPOINTS)('%s on WebGPU agrees with float64 PyTorch', (name) => {
  let engine: Engine;
  let cpu: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder(name), { device: 'webgpu' });
    cpu = await Engine.open(checkpointFolder(name));
    await engine.start();
  });
  afterAll(async () => {
    await Promise.all([engine.close(), cpu.close()]);
  });

  const cases = goldenCases(name).map((golden, i) => ({ ...golden, i }));
  const responseOf = (
    { promptIds, responseIds }: (typeof cases)[number],
    alpha: number,
    schedule: Schedule,
  ) => scoreResponse(engine, promptIds, responseIds, { methods: DEFAULT_METHODS, alpha, schedule });

  it('is what runs', () => {
    expect(engine.status()).toMatchObject({ decode: { device: 'webgpu' }, score: { device: 'webgpu' } });
  });

  it.each(cases)('case $i: offline', async (golden) => {
    const { tokens } = await responseOf(golden, golden.alpha, { kind: 'offline' });
    const of = (method: (typeof DEFAULT_METHODS)[number]) => tokens.map(({ scores }) => scores[method]!);
    const logprobs = tokens.map(({ logprob }) => logprob);
    expect(largestDifference(logprobs, golden.logprob)).toBeLessThan(1e-4);
    expect(largestDifference(of('entropy'), golden.entropy)).toBeLessThan(1e-3);
    expect(largestDifference(of('margin'), golden.margin)).toBeLessThan(1e-3);
    expect(scoreErrors(of('adversarial'), golden.adv).all).toBeLessThan(0.0005);
    const small = await responseOf(golden, 1e-4, { kind: 'offline' });
    const adversarial = small.tokens.map(({ scores }) => scores.adversarial!);
    expect(scoreErrors(adversarial, golden.advAlpha1em4).all).toBeLessThan(0.005);
  });

  // On a software adapter a pass takes 50 ms: the schedules of one token a pass are left to the CPU.
  it.each(['block=8,window=32', 'block=8,window=all'])('windowed: %s', async (key) => {
    const golden = cases[0]!;
    const { tokens } = await responseOf(golden, golden.alpha, parseScheduleKey(key));
    const adversarial = tokens.map(({ scores }) => scores.adversarial!);
    expect(scoreErrors(adversarial, golden.windowed[key]!.adversarial).all).toBeLessThan(0.0005);
  });

  it('greedy continuations, several at once', async () => {
    const texts = cases.map(async ({ promptIds, greedyIds }) => {
      const sampling = { temperature: 0, topK: 0, topP: 1, seed: 0 };
      const limits = { maxTokens: greedyIds.length, endIds: [], stop: [], topLogprobs: 0 };
      const generation = await engine.generate({ promptIds, ...limits, sampling });
      const ids: number[] = [];
      for (let item = await generation.next(); item.type !== 'end'; item = await generation.next())
        ids.push(item.id);
      return ids;
    });
    expect(await Promise.all(texts)).toEqual(cases.map(({ greedyIds }) => greedyIds));
  });

  it('scores, several at once', async () => {
    const answers = [...cases, ...cases].map(async (golden) => {
      const { tokens } = await responseOf(golden, golden.alpha, { kind: 'offline' });
      expect(
        scoreErrors(
          tokens.map(({ scores }) => scores.adversarial!),
          golden.adv,
        ).all,
      ).toBeLessThan(0.0005);
    });
    await Promise.all(answers);
  });

  it('perturbed copies, as on the CPU', async () => {
    const methods = ['adversarial', 'random', 'tokur_eu', 'tokur_tu'] as const;
    const scoring: Scoring = {
      methods,
      alpha: 1e-3,
      schedule: { kind: 'offline' },
      random: { sigma: 0.01, samples: 3, seed: 1 },
    };
    const { promptIds, responseIds } = cases[0]!;
    const score = async (on: Engine) =>
      (await scoreResponse(on, promptIds, responseIds.slice(0, 12), scoring)).tokens;
    const [here, there] = [await score(engine), await score(cpu)];
    for (const method of methods) {
      const [values, expected] = [here, there].map((tokens) => tokens.map(({ scores }) => scores[method]!));
      expect(scoreErrors(values!, expected!).all, method).toBeLessThan(0.001);
    }
  });
});

/** What onnxruntime's profile says of a node that ran. */
const profile = z.array(
  z.object({
    cat: z.string(),
    args: z
      .object({
        op_name: z.string(),
        provider: z.string(),
        output_type_shape: z.array(z.record(z.string(), z.array(z.number()))),
      })
      .partial(),
  }),
);

const WHOLE_NUMBERS = ['int64', 'int32', 'bool'];

const MODELS = [
  ...CHECKPOINTS.map((name) => ({ name, model: checkpointFolder(name) })),
  { name: 'a model in integers', model: 'test/fixtures/gguf/tiny-smollm3.gguf' },
];

describe.skipIf(!adapter).each(MODELS)('$name on WebGPU', ({ model }) => {
  const folder = mkdtempSync(join(tmpdir(), 'flinch-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The operators with results in floating point that ran on the CPU. */
  function floatsOnCpu(session: OpenedGraph, prefix: string): string[] {
    session.endProfiling();
    const file = readdirSync(folder).find((entry) => entry.startsWith(prefix));
    const nodes = profile.parse(JSON.parse(readFileSync(join(folder, file!), 'utf8')));
    const ran = nodes.flatMap(({ cat, args: { op_name, provider, output_type_shape } }) =>
      cat === 'Node' && op_name && provider
        ? [{ op: op_name, provider, outputs: output_type_shape ?? [] }]
        : [],
    );
    expect(ran.filter(({ provider }) => provider === 'WebGpuExecutionProvider').length).toBeGreaterThan(60);
    const types = (outputs: (typeof ran)[number]['outputs']) =>
      outputs.flatMap((output) => Object.keys(output));
    return ran
      .filter(({ provider }) => provider === 'CPUExecutionProvider')
      .filter(({ outputs }) => types(outputs).some((type) => !WHOLE_NUMBERS.includes(type)))
      .map(({ op }) => op);
  }

  // Positions, masks before they are numbers, sizes and token ids are whole numbers: those may stay on the CPU.

  it('computes everything in floating point on the device', async () => {
    const source = await openCheckpoint(model);
    const sessions = (prefix: string) =>
      new Sessions(source, { threads: 1, device: 'webgpu', profile: join(folder, prefix) });
    const common = { source, threads: 1, contextLength: 128 };
    const decode = sessions('decode');
    await probeDecode({ ...common, sessions: decode });
    const forward = await decode.get({ kind: 'forward', sequences: 1, result: 'logprobs' });
    expect(floatsOnCpu(forward, 'decode')).toEqual([]);

    for (const form of ['perturb', 'derivative'] as const) {
      const score = sessions(form);
      await probeScore({ ...common, sessions: score }, form);
      const session = await score.get({ kind: 'score', sequences: 1, form });
      expect(floatsOnCpu(session, form)).toEqual([]);
    }
  });
});
