import { createHash } from 'node:crypto';
import { z } from 'zod';
import { taskSettingsSchema } from '../suites/own/task.js';
import { SUITES } from '../suites/suite.js';
import { suiteSettingsSchema } from '../suites/suites.js';

/** How a response is cut into steps: as the suite gives it, or by its text. */
export const STEP_MODES = ['given', 'sentence', 'paragraph'] as const;

/** Goes up whenever equal settings come to other scores: those of two versions must not stand in one table. */
export const SCORING = 4;

export const shardSchema = z.object({ index: z.int().min(0), of: z.int().min(1) });
export type Shard = z.output<typeof shardSchema>;

/** First wrong steps are labelled by rollouts. */
export const rolloutSettingsSchema = z.object({
  by: z.literal('rollouts'),
  /** K, and the share of them: see `rollouts/rollout-rule.ts`. */
  rollouts: z.int(),
  share: z.number(),
  temperature: z.number(),
  /** Name of the model that goes on, at its server; `null` for the model that scores. */
  completer: z.string().nullable(),
});
export type RolloutSettings = z.output<typeof rolloutSettingsSchema>;

/** How rollouts are named where their labels are used; `null` for settings without. */
export function rolloutsNamed({ label }: Readonly<Record<string, unknown>>): string | null {
  const { success, data } = rolloutSettingsSchema.safeParse(label);
  if (!success) return null;
  const { rollouts, share, completer } = data;
  const least = share > 0 ? `, share ${share}` : '';
  return `rollouts (K=${rollouts}${least})${completer === null ? '' : ` of ${completer}`}`;
}

/**
 * All that the results of a run depend on, kept as settings.json: a run goes on under the same settings alone. What the
 * specification leaves open is among them. How fast the run is, and what it was told to do first, is not.
 */
export const settingsSchema = z.object({
  scoring: z.literal(SCORING, {
    error: ({ input }) =>
      `the scores are of version ${input ?? 1}, but this program computes version ${SCORING}; use a new folder`,
  }),
  suite: z.enum(SUITES),
  suiteSettings: suiteSettingsSchema,
  /** Of one's own questions. */
  task: taskSettingsSchema.exactOptional(),
  subsets: z.array(z.string()).nullable(),
  /** Models that wrote the given responses of a suite; all of them if absent. */
  generators: z.array(z.string()).exactOptional(),
  limit: z.int().nullable(),
  /** How often a question may be asked; once without it. */
  repeat: z.int().exactOptional(),
  seed: z.int(),
  /** SHA-256 of the problems, in their order. */
  problems: z.string(),
  /** Fingerprint of its files. */
  model: z.string(),
  /** Device that was chosen. */
  device: z.string(),
  /** Writer of the responses, if it is not the engine that scores. */
  writer: z
    .discriminatedUnion('by', [
      z.object({ by: z.literal('upstream'), model: z.string() }),
      z.object({ by: z.literal('file') }),
    ])
    .exactOptional(),
  system: z.string().nullable(),
  temperature: z.number(),
  topP: z.number(),
  maxTokens: z.int(),
  /** Responses that were cut off count as wrong; without it they are in no table. */
  cutOff: z.literal('wrong').exactOptional(),
  measures: z.array(z.string()),
  /** The models that measures ask beside the one that writes, by what they are for: folder, file and fingerprint. */
  encoders: z.record(z.string(), z.string()),
  samples: z.int(),
  sampleTemperature: z.number(),
  steps: z.enum(STEP_MODES),
  score: z.union([z.enum(['wrong', 'all']), z.int().min(0)]),
  perSubset: z.int().nullable(),
  check: z.enum(['rules', 'judge']),
  judge: z
    .object({
      model: z.string(),
      prompts: z.int(),
      accepted: z.number(),
      /** `null`: the server's own. */
      temperature: z.number().nullable(),
    })
    .nullable(),
  /** Source of the first wrong steps, if it is not that of the suite. */
  label: z
    .discriminatedUnion('by', [z.object({ by: z.literal('judge') }), rolloutSettingsSchema])
    .exactOptional(),
  /**
   * Source of the claims, for suites that are judged by claims; files by their SHA-256. It may be set once
   * the responses are there, because a file of their claims cannot exist before.
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

/** Facts for the report of a run beside its settings: about.json. */
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
