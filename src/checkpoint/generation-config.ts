import { z } from 'zod';
import { parseJson } from '../files/json.js';

/** Defaults of `generation_config.json`; `null` for keys that it lacks. */
export interface GenerationDefaults {
  readonly eosTokenIds: readonly number[] | null;
  /** Whether to sample. Greedy decoding unless the file asks for it, as in transformers. */
  readonly sample: boolean;
  readonly temperature: number | null;
  /** The number of likeliest tokens that are drawn from; `null` also for the file's 0, "no limit". */
  readonly topK: number | null;
  /** The probability mass that is drawn from, 0 to 1. */
  readonly topP: number | null;
}

/** `eos_token_id` as config.json and generation_config.json write it: one id, several, or none. */
export const tokenIds = z.preprocess(
  (value) => (typeof value === 'number' ? [value] : value),
  z.array(z.int().min(0)).max(1024).nullish(),
);

const schema = z.object({
  eos_token_id: tokenIds,
  do_sample: z.boolean().nullish(),
  temperature: z.number().min(0).nullish(),
  top_k: z.int().min(0).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
});

/**
 * Reads generation_config.json, which a checkpoint need not have (`json` is then `undefined`).
 *
 * @throws ModelError naming the field that is out of range
 */
export function parseGenerationConfig(json: unknown, file: string): GenerationDefaults {
  const raw = parseJson(schema, json === undefined ? {} : json, file);
  const eos = raw.eos_token_id ?? [];
  return {
    eosTokenIds: eos.length > 0 ? eos : null,
    sample: raw.do_sample ?? false,
    temperature: raw.temperature ?? null,
    topK: raw.top_k || null,
    topP: raw.top_p ?? null,
  };
}
