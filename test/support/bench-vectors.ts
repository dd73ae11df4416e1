import { readFileSync } from 'node:fs';
import { z } from 'zod';

const numbers = z.array(z.number());
const byK = z.object({ ceil: z.int(), floor: z.int(), round_half_up: z.int() });

const referenceSchema = z.object({
  token: z.object({
    logits: numbers,
    chosen: z.int(),
    nll: z.number(),
    entropy: z.number(),
    margin: z.number(),
  }),
  tokur: z.object({ logits_samples: z.array(numbers), TU: z.number(), AU: z.number(), EU: z.number() }),
  classification: z.object({ y: numbers, s: numbers, auroc: z.number(), ap: z.number() }),
  ccp: z.object({
    alternatives: z.array(z.tuple([z.string(), z.number()])),
    relation_to_first: z.array(z.enum(['self', 'entail', 'contra', 'neutral'])),
    log_ccp: z.number(),
  }),
  token_sar: z.object({
    logprobs: numbers,
    similarity_without_token: numbers,
    R_norm: numbers,
    E: numbers,
    tokenSAR: z.number(),
  }),
  topk: z.object({
    scores: numbers,
    span: numbers,
    hit_k1_with_ties: z.boolean(),
    hit_k1_stable_rank: z.boolean(),
    hit_k3: z.boolean(),
  }),
  one_percent_k: z.record(z.string(), byK),
  random_hit: z.object({ n: z.int(), w: z.int(), k: z.int(), p_hit_random: z.number() }),
  ci95: z.record(z.string(), z.number()),
});

const closenessSchema = z.object({
  graphs: z.array(
    z.object({
      responses: z.int(),
      claims: z.int(),
      edges: z.array(z.array(z.int())),
      closenessClaims: numbers,
    }),
  ),
});

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/bench/${name}`, import.meta.url), 'utf8'));

/** Small exact cases from an independent implementation of the measures and statistics. */
export const referenceVectors = referenceSchema.parse(read('reference_vectors.json'));

/** Graphs with the closeness that networkx gives (`wf_improved=True`). */
export const closenessVectors = closenessSchema.parse(read('closeness_vectors.json')).graphs;
