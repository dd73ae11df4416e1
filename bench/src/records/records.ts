import { ANSWER_KINDS } from 'flinch/internals';
import { z } from 'zod';

/**
 * The lines of a run's files, one JSON object each, `id` being the problem's. A stage appends to its own file and reads
 * those of the stages before it: responses.jsonl → checks.jsonl → spans.jsonl → samples.jsonl → scores.jsonl, and beside
 * these times.jsonl, and rollouts.jsonl of labels by rollouts. Suites that are judged by claims have claims.jsonl for checks and spans, and graphs.jsonl. All problems are in
 * problems.jsonl.
 */

/** Range of UTF-16 code units, with the start and without the end. */
export const spanSchema = z.tuple([z.int().min(0), z.int().min(0)]);

/** A response, generated or given. Its text is its tokens' texts joined. */
export const responseSchema = z.object({
  id: z.string(),
  subset: z.string(),
  promptTokens: z.int(),
  tokenIds: z.array(z.int()),
  tokenTexts: z.array(z.string()),
  /**
   * Log-probabilities of the tokens at temperature 1, as reported by a writer other than the engine; `null`
   * if not reported.
   */
  logprobs: z.array(z.number().nullable()).exactOptional(),
  /**
   * `length`: cut off; `rejected`: given, and the tokenizer does not give its text back, so that no step could be found in
   * it. Both are left out of every table, except with `cutOffWrong`.
   */
  finish: z.enum(['stop', 'length', 'given', 'rejected']),
  /** It was cut off, and counts as a wrong one. */
  cutOffWrong: z.literal(true).exactOptional(),
  /** Time of the generation; 0 for a given response. */
  seconds: z.number(),
});
export type ResponseRecord = z.output<typeof responseSchema>;

export const checkSchema = z.object({
  id: z.string(),
  extracted: z.string().nullable(),
  /** `null`: unsure; the answer could not be compared with the key, and is in no table. */
  correct: z.boolean().nullable(),
  /** What the key is, if the check read the answer by it. */
  kind: z.enum(ANSWER_KINDS).exactOptional(),
  /** `labels`: it came with the response; `people`: somebody looked at the answer of this run. The last record of an id holds. */
  by: z.enum(['rules', 'program', 'labels', 'judge', 'people']),
});
export type CheckRecord = z.output<typeof checkSchema>;

/** The first wrong step of a wrong response, or why the case is left out. */
export const locatedSchema = z.object({
  id: z.string(),
  span: spanSchema.nullable(),
  by: z.enum(['program', 'labels', 'judge', 'rollouts']),
  /**
   * Why there is no span: the judge named none, or its text is not in the response; no rollout from the prompt reached
   * the answer; or the file of questions has no label.
   */
  rejected: z.enum(['none_named', 'no_match', 'unreadable', 'not_reached', 'unlabelled']).optional(),
  /** The judge's text of the step, and how well it fits the span, 0 to 1. */
  judged: z.string().optional(),
  similarity: z.number().optional(),
  /** How rollouts found it. */
  rollouts: z
    .object({
      /** K. */
      rollouts: z.int(),
      /** Completions after so many steps, and how many of them reached the answer. */
      prefixes: z.array(z.object({ drawn: z.int(), reached: z.int() })),
      /** Written by all completions. */
      tokens: z.int(),
    })
    .exactOptional(),
});
export type LocatedRecord = z.output<typeof locatedSchema>;

/** A completion of the first steps of a wrong response. */
export const rolloutSchema = z.object({
  id: z.string(),
  /** Steps that it goes on after. */
  prefix: z.int().min(0),
  /** Index among the completions of this prefix, from 0. */
  sample: z.int().min(0),
  text: z.string(),
  tokens: z.int(),
  finish: z.enum(['stop', 'length']),
  /** Whether the response then has the known answer. */
  correct: z.boolean(),
  seconds: z.number(),
});
export type RolloutRecord = z.output<typeof rolloutSchema>;

/** The claims of a response, in their order, or why they are not known. */
export const claimsSchema = z.object({
  id: z.string(),
  by: z.enum(['judge', 'file']),
  claims: z.array(
    z.object({
      claim: z.string(),
      /**
       * Positions of the claim's words; none if they are not in the response, which leaves the claim out of
       * every table.
       */
      spans: z.array(spanSchema),
      /** Label; `null`, for an opinion or if it cannot be told, also leaves the claim out. */
      supported: z.boolean().nullable(),
    }),
  ),
  /** The judge could not be read, or the file does not list the response. */
  rejected: z.enum(['unreadable', 'unlisted']).optional(),
});
export type ClaimsRecord = z.output<typeof claimsSchema>;

/** A further response to the problem, for Graph Uncertainty and Self-Consistency. */
export const sampleSchema = z.object({
  id: z.string(),
  /** Index of the sample, from 1. */
  sample: z.int(),
  text: z.string(),
  tokens: z.int(),
  /** `length`: cut off. */
  finish: z.enum(['stop', 'length']),
  seconds: z.number(),
});
export type SampleRecord = z.output<typeof sampleSchema>;

/** Support of claims by responses, for Graph Uncertainty of claims. Response 0 is the one that is scored. */
export const claimGraphSchema = z.object({
  id: z.string(),
  /** Each with the first response that it was taken from, those of response 0 first. */
  claims: z.array(z.object({ claim: z.string(), response: z.int().min(0) })),
  /** Whether the response supports the claim, `[response][claim]`. */
  edges: z.array(z.array(z.boolean())),
  /** Answers of the judge that could not be read: they add neither claim nor edge. */
  unreadable: z.int(),
});
export type ClaimGraphRecord = z.output<typeof claimGraphSchema>;

/** All that the measures say of a response, by their names. */
export const scoreSchema = z.object({
  id: z.string(),
  /** Tokens of each step: from, and up to but without. */
  steps: z.array(z.tuple([z.int(), z.int()])),
  tokens: z.record(z.string(), z.array(z.number().nullable())),
  stepScores: z.record(z.string(), z.array(z.number())),
  response: z.record(z.string(), z.number()),
  /** Scores of each claim of claims.jsonl; absent if no measure scores claims directly. */
  claimScores: z.record(z.string(), z.array(z.number())).exactOptional(),
});
export type ScoreRecord = z.output<typeof scoreSchema>;

/** Times of a response, sequentially on an idle machine, in one process. */
export const timeSchema = z.object({
  id: z.string(),
  tokens: z.int(),
  /** Seconds to write so many tokens. */
  generation: z.number(),
  /** Seconds of each measure alone; the further responses that it needs are part of them. */
  measures: z.record(z.string(), z.number()),
  /** Bytes by which the process that scores grew at most for each measure; not there where the system does not tell. */
  memory: z.record(z.string(), z.int()).default({}),
});
export type TimeRecord = z.output<typeof timeSchema>;
