import { join } from 'node:path';
import { z } from 'zod';
import { Ledger, SETTINGS_FILE } from '#bench/result-log.js';
import { readJsonFile } from '#src/files/json-text.js';
import { TASK_NAMES, type TaskName } from './tasks.js';

/** Files of a folder, which holds the answers of one model to one task at one temperature. */

export const settingsSchema = z.object({
  task: z.enum(TASK_NAMES as [TaskName, ...TaskName[]]),
  model: z.string(),
  /** `null`: the answers are given. */
  temperature: z.number().nullable(),
});
export type PretrainedSettings = z.output<typeof settingsSchema>;

export const readFolder = (folder: string): PretrainedSettings =>
  readJsonFile(join(folder, SETTINGS_FILE), settingsSchema);

const answerSchema = z.object({
  id: z.string(),
  /** `null` where a server without a scorer wrote the answer. */
  promptIds: z.array(z.int()).nullable(),
  tokenIds: z.array(z.int()),
  tokenTexts: z.array(z.string()),
  finish: z.enum(['stop', 'length', 'given']),
});
export type Answer = z.output<typeof answerSchema>;

/** Scores of one answer by one measure: of its tokens, or else of its steps. */
const scoreSchema = z.object({
  id: z.string(),
  measure: z.string(),
  tokens: z.array(z.number().nullable()).optional(),
  steps: z.array(z.number()).optional(),
});
export type Score = z.output<typeof scoreSchema>;

export const scoreKey = (id: string, measure: string): string => `${id} ${measure}`;

export const openAnswers = (folder: string): Promise<Ledger<Answer>> =>
  Ledger.open(join(folder, 'answers.jsonl'), answerSchema, ({ id }) => id);

export const openScores = (folder: string): Promise<Ledger<Score>> =>
  Ledger.open(join(folder, 'scores.jsonl'), scoreSchema, ({ id, measure }) => scoreKey(id, measure));
