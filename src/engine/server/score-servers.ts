import { join } from 'node:path';
import { z } from 'zod';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { fingerprint } from '../../checkpoint/fingerprint.js';
import { ModelError } from '../../files/file-errors.js';
import { parseJson, readOptionalJson } from '../../files/json.js';
import { byTokenStatistic } from '../../numerics/token-statistics.js';

/** Scores of a text that the export computed, for a server to compute as well. */
const recordedScoresSchema = z.object({
  fingerprint: z.string(),
  alpha: z.number(),
  scores: z.array(
    z.object({
      logprob: z.number(),
      ...byTokenStatistic(() => z.number()),
      /** Fall of the log-probability by the adversary; `null` in a pass without one. */
      fall: z.number().nullable(),
    }),
  ),
});

export type RecordedScores = z.output<typeof recordedScoresSchema>;

/** Inference servers that run the graphs of a model. */
export interface ScoreServers {
  readonly urls: readonly string[];
  /** Its name there, as the export gave it. */
  readonly model: string;
  readonly recorded: RecordedScores;
  /** Time limit of one run. */
  readonly requestMs: number;
}

/** Activity of one address since the score process began. */
export interface ServerStatus {
  readonly address: string;
  /** Whether it is asked: its circuit is closed. */
  readonly up: boolean;
  readonly runs: number;
  /** Runs without a usable answer. */
  readonly failures: number;
  /** Duration of all runs together, until their answer or failure. */
  readonly seconds: number;
  /** Sequences that it holds. */
  readonly sequences: number;
  /** Sequences that it failed, or did not hold any more: their text was read again. */
  readonly lostSequences: number;
}

/** The file's name beside the weights of a model. */
export const SERVER_SCORES_FILE = 'server-scores.json';

/** @throws ModelError where the file is missing, cannot be read, or is of another model */
export async function readRecordedScores(
  checkpoint: Pick<Checkpoint, 'dir' | 'tensors'>,
): Promise<RecordedScores> {
  const file = join(checkpoint.dir, SERVER_SCORES_FILE);
  const json = await readOptionalJson(checkpoint.dir, SERVER_SCORES_FILE);
  if (json === undefined) throw new ModelError(file, '', 'is missing; `flinch export triton` writes it');
  const recorded = parseJson(recordedScoresSchema, json, file);
  if (recorded.fingerprint !== (await fingerprint(checkpoint))) {
    throw new ModelError(file, 'fingerprint', 'is that of another model; export this one again');
  }
  return recorded;
}
