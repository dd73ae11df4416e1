import { createHash } from 'node:crypto';
import { z } from 'zod';
import { taskSettingsSchema } from '../suites/own/task.js';
import { SUITES } from '../suites/suite.js';
import { PROMPTS_VERSION } from '../suites/suite-prompts.js';

/** Goes up whenever equal settings come to other scores: those of two versions must not stand in one table. */
export const SCORING = 4;

/** First wrong steps are labelled by rollouts. */
export const rolloutSettingsSchema = z.object({
  by: z.literal('rollouts'),
  /** K: see `rollouts/rollout-rule.ts`. */
  rollouts: z.int(),
  temperature: z.number(),
  /** Name of the model that goes on, at its server; `null` for the model that scores. */
  completer: z.string().nullable(),
});
export type RolloutSettings = z.output<typeof rolloutSettingsSchema>;

/** How rollouts are named where their labels are used; `null` for settings without. */
export function rolloutsNamed({ label }: Readonly<Record<string, unknown>>): string | null {
  const { success, data } = rolloutSettingsSchema.safeParse(label);
  if (!success) return null;
  const { rollouts, completer } = data;
  return `rollouts (K=${rollouts})${completer === null ? '' : ` of ${completer}`}`;
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
  /** How its questions are asked. */
  prompts: z.literal(PROMPTS_VERSION).default(PROMPTS_VERSION),
  /** Of one's own questions. */
  task: taskSettingsSchema.exactOptional(),
  subsets: z.array(z.string()).nullable(),
  limit: z.int().nullable(),
  seed: z.int(),
  /** SHA-256 of the problems, in their order. */
  problems: z.string(),
  /** Fingerprint of its files. */
  model: z.string(),
  /** Device that was chosen. */
  device: z.string(),
  /** Writer of the responses, if it is not the engine that scores. */
  writer: z.object({ by: z.literal('upstream'), model: z.string() }).exactOptional(),
  system: z.string().nullable(),
  temperature: z.number(),
  topP: z.number(),
  maxTokens: z.int(),
  /** Responses that were cut off count as wrong; without it they are in no table. */
  cutOff: z.literal('wrong').exactOptional(),
  /** Answers that the check is unsure of count as wrong; without it they are in no table. */
  unsure: z.literal('wrong').exactOptional(),
  measures: z.array(z.string()),
  /** The models that measures ask beside the one that writes, by what they are for: folder, file and fingerprint. */
  encoders: z.record(z.string(), z.string()),
  samples: z.int(),
  sampleTemperature: z.number(),
  score: z.enum(['wrong', 'all']),
  perSubset: z.int().nullable(),
  check: z.enum(['rules', 'judge']),
  judge: z
    .object({
      model: z.string(),
      prompts: z.int(),
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
      z.object({ by: z.literal('file'), file: z.string() }),
    ])
    .exactOptional(),
  bootstrap: z.object({ resamples: z.int(), seed: z.int() }),
});
export type RunSettings = z.output<typeof settingsSchema>;

/** Facts for the report of a run beside its settings: about.json. */
export const aboutSchema = z.object({
  model: z.object({ name: z.string(), parameters: z.int(), embeddingRms: z.number() }),
  command: z.string(),
  machine: z.object({ cpu: z.string(), cores: z.int(), node: z.string() }),
});
export type About = z.output<typeof aboutSchema>;

export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex');
