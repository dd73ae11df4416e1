import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { reasonerPath } from '#src/package-root.js';

export const CHECKPOINTS = ['tiny-llama', 'tiny-qwen2', 'tiny-mistral'] as const;
/** One of each further family, by lab/scripts/families.py. */
export const FAMILY_CHECKPOINTS = [
  'tiny-qwen3',
  'tiny-gemma2',
  'tiny-gemma3',
  'tiny-phi3',
  'tiny-smollm3',
  'tiny-olmo2',
] as const;
export type CheckpointName = (typeof CHECKPOINTS | typeof FAMILY_CHECKPOINTS)[number];

/** The embedded model. */
export const REASONER = reasonerPath;

export const checkpointFolder = (name: CheckpointName): string =>
  fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

const numbers = z.array(z.number());

/** float64 values of an independent PyTorch implementation, or of `transformers` (lab/scripts/golden.py). */
const golden = z.object({
  cases: z.array(
    z.object({
      messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })),
      promptIds: numbers,
      responseIds: numbers,
      response: z.string(),
      alpha: z.number(),
      logprob: numbers,
      entropy: numbers,
      margin: numbers,
      topIds: z.array(numbers),
      topLogprob: z.array(numbers),
      adv: numbers,
      advAlpha1em4: numbers,
      windowed: z.record(z.string(), z.object({ adversarial: numbers, positions: z.number() })),
      jvp: numbers,
      gradL1Total: z.number(),
      /** ‖∇f_t‖₂ of each token. */
      gradL2: numbers.default([]),
      sigma: z.number(),
      /** Noise in a file; or the seed of flinch's own. */
      noiseFile: z.string().default(''),
      noiseSeed: z.number().default(0),
      noiseShape: numbers,
      randVar: numbers,
      greedyIds: numbers.default([]),
    }),
  ),
});

export type GoldenCase = z.output<typeof golden>['cases'][number];

/** Golden values of a model that is not in the repository. */
const realGolden = golden.extend({
  /** SHA-256 of its model.safetensors. */
  weights: z.string(),
  /** Greedy answers, and by how much each token led the second in log-probability. */
  continued: z.array(z.object({ promptIds: numbers, greedyIds: numbers, leads: numbers })),
});

export function readRealGolden(name: 'smollm2') {
  const file = fileURLToPath(new URL(`../fixtures/${name}/golden.json`, import.meta.url));
  return realGolden.parse(JSON.parse(readFileSync(file, 'utf8')));
}

export function goldenCases(name: CheckpointName): GoldenCase[] {
  return golden.parse(JSON.parse(readFileSync(`${checkpointFolder(name)}/golden.json`, 'utf8'))).cases;
}

/** `block=8,window=all` */
export function parseScheduleKey(key: string) {
  const [, block, window] = /^block=(\d+),window=(\d+|all)$/.exec(key) ?? [];
  if (!block || !window) throw new Error(`golden.json: windowed["${key}"]`);
  return {
    kind: 'windowed',
    block: Number(block),
    window: window === 'all' ? window : Number(window),
  } as const;
}

export function largestDifference(actual: readonly number[], expected: readonly number[]): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  return Math.max(...expected.map((value, i) => Math.abs(actual[i]! - value)));
}

/** Differences as shares of the largest expected score: `{ p99, all }`. */
export function scoreErrors(
  actual: readonly number[],
  expected: readonly number[],
): { p99: number; all: number } {
  const scale = Math.max(...expected.map(Math.abs));
  const errors = expected.map((value, i) => Math.abs(actual[i]! - value) / scale).sort((a, b) => a - b);
  const worst = errors.at(-1) ?? 0;
  if (actual.length !== expected.length || Number.isNaN(worst)) return { p99: Infinity, all: Infinity };
  return { p99: errors[Math.ceil(0.99 * errors.length) - 1]!, all: worst };
}
