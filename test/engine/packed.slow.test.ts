import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sampleCorrelation } from 'simple-statistics';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planSafetensors } from '#src/checkpoint/safetensors-plan.js';
import { Sessions } from '#src/engine/child/graph-sessions.js';
import { runScorePass } from '#src/engine/child/score-pass.js';
import { runtimeOf } from '#src/engine/child/sequence-run.js';
import { SplitPass } from '#src/engine/child/split-pass.js';
import { KvCache } from '#src/engine/kv-cache.js';
import { openSession } from '#src/engine/ort-session.js';
import { buildScoreGraph } from '#src/graphs/score-graph.js';
import {
  type Checkpoint,
  DEFAULT_SCORING,
  Engine,
  openCheckpoint,
  type Scoring,
  scoreResponse,
} from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { largestDifference, scoreErrors } from '../support/golden.js';
import { quantizedFiles } from '../support/quantized.js';
import { hasAdapter } from '../support/webgpu.js';
import { valuesOf } from '../support/weights.js';

const folder = useFolder();
const adapter = await hasAdapter('packed.slow.test.ts');

/** The same model with every weight in fp32. */
async function inFloats({ dir, tensors }: Checkpoint, to: string): Promise<string> {
  await mkdir(to);
  await cp(dir, to, { recursive: true, filter: (file) => !/\.safetensors/.test(file) });
  const config = join(to, 'config.json');
  const { quantization_config: _, ...plain } = JSON.parse(await readFile(config, 'utf8'));
  await writeFile(config, JSON.stringify(plain));
  const weights = [...tensors.values()];
  const entries = weights.map(({ name, shape }) => ({ name, shape, dtype: 'F32' as const }));
  const { header } = planSafetensors('test', entries);
  const values = await Promise.all(weights.map(valuesOf));
  const bytes = values.map(({ buffer }) => new Uint8Array(buffer));
  await writeFile(join(to, 'model.safetensors'), Buffer.concat([header, ...bytes]));
  return to;
}

const PROMPT = Array.from({ length: 40 }, (_, i) => 10 + ((7 * i) % 90));
const RESPONSE = Array.from({ length: 40 }, (_, i) => 12 + ((11 * i) % 90));
const SCORINGS = {
  windowed: { ...DEFAULT_SCORING, form: 'perturb' },
  offline: { ...DEFAULT_SCORING, form: 'perturb', schedule: { kind: 'offline' } },
  derivative: DEFAULT_SCORING,
} as const satisfies Readonly<Record<string, Scoring>>;

/** A model of integers, of FP8, or of columns in another order: a GGUF file, or a folder. */
async function modelOf(name: string): Promise<string> {
  if (name.endsWith('.gguf')) return join('test/fixtures/gguf', name);
  const dir = folder.path(`stored-${name}`);
  await mkdir(dir, { recursive: true });
  for (const [file, content] of Object.entries(await quantizedFiles(name))) {
    await writeFile(join(dir, file), content);
  }
  return dir;
}

const ALL_FORMS = ['tiny-smollm3.gguf', 'gptq-int4-reordered', 'fp8-block'];
const MODELS = [
  ...['tiny-llama.gguf', 'tiny-smollm3.gguf', 'tiny-gemma3.gguf'],
  ...['gptq-int4-reordered', 'pack-int4-zeros', 'fp8-block', 'float8-channel'],
];

describe.each(MODELS)('%s scores as its values in fp32 do', (name) => {
  let [packed, plain, unrounded]: (Engine | undefined)[] = [];
  beforeAll(async () => {
    const model = await modelOf(name);
    const checkpoint = await openCheckpoint(model);
    expect([...checkpoint.tensors.values()].some(({ type }) => type === 'packed')).toBe(true);
    packed = await Engine.open(model);
    unrounded = await Engine.open(model, { precision: 'fp32' });
    plain = await Engine.open(await inFloats(checkpoint, folder.path(name)));
  });
  afterAll(async () => {
    await Promise.all([packed?.close(), unrounded?.close(), plain?.close()]);
  });

  const score = async (engine: Engine, scoring: Scoring) =>
    (await scoreResponse(engine, PROMPT, RESPONSE, scoring)).tokens;
  type Tokens = Awaited<ReturnType<typeof score>>;
  const falls = (tokens: Tokens) => tokens.map(({ scores }) => scores.adversarial ?? 0);
  const logprobs = (tokens: Tokens) => tokens.map(({ logprob }) => logprob);

  it.each(Object.keys(SCORINGS) as (keyof typeof SCORINGS)[])('%s', async (kind) => {
    const engine = kind === 'derivative' ? unrounded! : packed!;
    const [found, expected] = [await score(engine, SCORINGS[kind]), await score(plain!, SCORINGS[kind])];
    expect(largestDifference(logprobs(found), logprobs(expected))).toBeLessThan(5e-5);
    expect(scoreErrors(falls(found), falls(expected)).all).toBeLessThan(0.005);
  });

  it('derivative in 8 bits: nearly, and with the same probabilities', async () => {
    const [found, expected] = [await score(packed!, DEFAULT_SCORING), await score(plain!, DEFAULT_SCORING)];
    expect(largestDifference(logprobs(found), logprobs(expected))).toBeLessThan(5e-5);
    // Rows of 32 to 256 numbers: of Qwen2.5-Coder-0.5B it is 0.997.
    expect(sampleCorrelation(falls(found), falls(expected))).toBeGreaterThan(0.8);
    // What is written says its own probabilities: only derivatives are asked for, and keys are rounded, too.
    const written = expected.map(({ id, logprob }) => ({ id, logprob }));
    const scoring = { ...DEFAULT_SCORING, methods: ['adversarial'] } as const;
    const { tokens } = await scoreResponse(packed!, PROMPT, written, scoring);
    expect(logprobs(tokens)).toEqual(logprobs(expected));
    expect(sampleCorrelation(falls(tokens), falls(expected))).toBeGreaterThan(0.8);
  });

  it('derivative in 8 bits: of several texts at once what it is of each', async () => {
    const scoring = { ...DEFAULT_SCORING, methods: ['adversarial'] } as const;
    const written = RESPONSE.map((id) => ({ id, logprob: -0.5 }));
    // Of lengths that are read in runs with others, and that are not.
    const texts = [0, 7, 20].map((from) => [...PROMPT, ...PROMPT, ...PROMPT].slice(from));
    const scored = async (ids: number[]) =>
      falls((await scoreResponse(packed!, ids, written, scoring)).tokens);
    const alone: number[][] = [];
    for (const ids of texts) alone.push(await scored(ids));
    const together = await Promise.all(texts.map(scored));
    for (const [i, expected] of alone.entries())
      expect(sampleCorrelation(together[i]!, expected)).toBeGreaterThan(0.99);
  });

  it('writes with activations of 8 bits: log-probabilities are near', async () => {
    const request = {
      promptIds: PROMPT,
      maxTokens: 8,
      sampling: { temperature: 0, seed: 1 },
      topLogprobs: 5,
    };
    const first = async (engine: Engine) => {
      const token = await (await engine.generate(request)).next();
      return token.type === 'token.delta' ? token.topLogprobs : [];
    };
    const [found, expected] = [await first(packed!), await first(plain!)];
    const near = new Map(expected.map(({ id, logprob }) => [id, logprob]));
    const both = found.filter(({ id }) => near.has(id));
    expect(both.length).toBeGreaterThan(2);
    // Rows of 32 to 256 numbers: on Qwen2.5-Coder-0.5B the mean difference is 0.004.
    for (const { id, logprob } of both) expect(Math.abs(logprob - near.get(id)!)).toBeLessThan(1);
  });
});

describe('the graphs of CUDA, on the CPU', () => {
  it.each(ALL_FORMS)('give the scores of those of the CPU: %s', async (name) => {
    const { config, tensors } = await openCheckpoint(await modelOf(name));
    const ids = PROMPT.slice(0, -1);
    const targets = PROMPT.slice(-16);
    const falls: number[][] = [];
    for (const gpu of [null, 'cuda'] as const) {
      const source = { config, tensors, ...(gpu && { gpu }) };
      const graph = buildScoreGraph(source, { sequences: 1, form: 'perturb' });
      const session = await openSession(graph, { threads: 1, packed: gpu !== null });
      const window = { cache: new KvCache(config, 64), start: 0, ids, targets };
      const windows = [{ ...window, attacked: targets.map(() => true) }];
      const step = { alpha: 1e-4, form: 'perturb' } as const;
      const [tokens] = await runScorePass(session, runtimeOf({ source, threads: 1 }), windows, step);
      falls.push(tokens!.map(({ adversary }) => adversary!.fall));
    }
    expect(scoreErrors(falls[1]!, falls[0]!).all).toBeLessThan(0.002);
  });
});

describe('the graphs of a GPU', () => {
  it.each(['cuda', 'webgpu'] as const)('hold integers once: %s', async (gpu) => {
    const { config, tensors } = await openCheckpoint(await modelOf('gptq-int4-reordered'));
    const graph = buildScoreGraph({ config, tensors, gpu }, { sequences: 1, form: 'perturb' });
    const integers = graph.initializers.flatMap((initializer) =>
      'external' in initializer && initializer.value.type === 'uint8' ? [initializer.external] : [],
    );
    expect(integers.length).toBeGreaterThan(10);
    expect(new Set(integers.map(({ file, offset }) => `${file} ${offset}`)).size).toBe(integers.length);
  });
});

describe('a pass in parts', () => {
  it('gives the same scores without memory for a packed copy', async () => {
    const { config, tensors } = await openCheckpoint('test/fixtures/gguf/tiny-smollm3.gguf');
    const source = { config, tensors };
    const targets = PROMPT.slice(-16);
    const fallsWith = async (available: number) => {
      const session = await new SplitPass(source, { threads: 1 }, 1, () => available).open(true);
      const window = { cache: new KvCache(config, 64), start: 0, ids: PROMPT.slice(0, -1), targets };
      const windows = [{ ...window, attacked: targets.map(() => true) }];
      const step = { alpha: 1e-4, form: 'perturb' } as const;
      const [tokens] = await runScorePass(session, runtimeOf({ source, threads: 1 }), windows, step);
      return tokens!.map(({ adversary }) => adversary!.fall);
    };
    expect(scoreErrors(await fallsWith(0), await fallsWith(1e12)).all).toBeLessThan(0.002);
  });

  it('gives the same scores to several texts at a time', async () => {
    const { config, tensors } = await openCheckpoint('test/fixtures/gguf/tiny-smollm3.gguf');
    const sessions = new Sessions({ config, tensors }, { threads: 1 });
    expect([1, 3, 4, 9].map((waiting) => sessions.batchSize(waiting))).toEqual([1, 3, 4, 4]);
    const runtime = runtimeOf({ source: { config, tensors }, threads: 1 });
    const step = { alpha: 1e-4, form: 'perturb' } as const;
    const passes = async (lengths: readonly number[]) => {
      const windows = lengths.map((length) => {
        const targets = PROMPT.slice(length - 4, length);
        const window = { cache: new KvCache(config, 64), start: 0, ids: PROMPT.slice(0, length - 1) };
        return { ...window, targets, attacked: [false, true, false, true] };
      });
      const session = await sessions.get({ kind: 'score', sequences: lengths.length, form: 'perturb' });
      const tokens = await runScorePass(session, runtime, windows, step);
      return tokens.flat().map(({ adversary }) => adversary!.fall);
    };
    const lengths = [8, PROMPT.length, 12, 9];
    const alone: number[] = [];
    for (const length of lengths) alone.push(...(await passes([length])));
    for (const texts of [4, 2, 3]) {
      const together = await passes(lengths.slice(0, texts));
      expect(scoreErrors(together, alone.slice(0, together.length)).all).toBeLessThan(0.002);
    }
  });
});

describe.skipIf(!adapter)('a model in integers on WebGPU', () => {
  it.each(ALL_FORMS)('scores as on the CPU: %s', async (name) => {
    const model = await modelOf(name);
    const cpu = await Engine.open(model, { precision: 'fp32' });
    const gpu = await Engine.open(model, { device: 'webgpu' });
    try {
      const score = async (engine: Engine) =>
        (await scoreResponse(engine, PROMPT, RESPONSE, DEFAULT_SCORING)).tokens.map(
          ({ scores }) => scores.adversarial!,
        );
      expect(scoreErrors(await score(gpu), await score(cpu)).all).toBeLessThan(0.005);
    } finally {
      await Promise.all([cpu.close(), gpu.close()]);
    }
  });
});
