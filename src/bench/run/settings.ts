import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SUITES } from '../suites/suite.js';
import { suiteSettingsSchema } from '../suites/suites.js';

/** How a response is cut into steps: as the suite gives it, or by its text. */
export const STEP_MODES = ['given', 'sentence', 'paragraph'] as const;

export const shardSchema = z.object({ index: z.int().min(0), of: z.int().min(1) });
export type Shard = z.output<typeof shardSchema>;

/**
 * All that the results of a run depend on, kept as settings.json: a run goes on under the same settings alone. What the
 * specification leaves open is among them. How fast the run is, and what it was told to do first, is not.
 */
export const settingsSchema = z.object({
  suite: z.enum(SUITES),
  suiteSettings: suiteSettingsSchema,
  subsets: z.array(z.string()).nullable(),
  limit: z.int().nullable(),
  seed: z.int(),
  /** SHA-256 of the problems, in their order. */
  problems: z.string(),
  /** Fingerprint of its files. */
  model: z.string(),
  device: z.string(),
  system: z.string().nullable(),
  temperature: z.number(),
  topP: z.number(),
  maxTokens: z.int(),
  measures: z.array(z.string()),
  /** The models that measures ask beside the one that writes: folder and file, by what they are for. */
  encoders: z.record(z.string(), z.string()),
  samples: z.int(),
  sampleTemperature: z.number(),
  steps: z.enum(STEP_MODES),
  score: z.union([z.enum(['wrong', 'all']), z.int().min(0)]),
  perSubset: z.int().nullable(),
  check: z.enum(['rules', 'judge']),
  judge: z.object({ model: z.string(), prompts: z.int(), accepted: z.number() }).nullable(),
  /**
   * Of suites that are judged by claims: who tells these, files by their SHA-256. It may be said once the responses are
   * there, as a file of their claims cannot be before.
   */
  claims: z
    .discriminatedUnion('by', [
      z.object({ by: z.literal('judge'), evidence: z.string().nullable() }),
      z.object({ by: z.literal('file'), file: z.string(), accepted: z.number() }),
    ])
    .exactOptional(),
  bootstrap: z.object({ resamples: z.int(), seed: z.int() }),
  shard: shardSchema,
});
export type RunSettings = z.output<typeof settingsSchema>;

/** What a report says of a run beside its settings: about.json. */
export const aboutSchema = z.object({
  model: z.object({ name: z.string(), parameters: z.int(), embeddingRms: z.number() }),
  command: z.string(),
  machine: z.object({ cpu: z.string(), cores: z.int(), node: z.string() }),
});
export type About = z.output<typeof aboutSchema>;

export const WHOLE: Shard = { index: 0, of: 1 };

/** Every `of`-th one. */
export const inShard = <T>(items: readonly T[], { index, of }: Shard): T[] =>
  items.filter((_, i) => i % of === index);

export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');
