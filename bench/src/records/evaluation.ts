import { ANSWER_KINDS } from 'flinch/internals';
import { z } from 'zod';
import { checkSchema } from './records.js';

/** evaluation.json: all that a report of a run shows. Written by the run's last stage, read by `flinch bench report`. */

/** A number that was measured and its 95 % interval; `null` where these cases do not define it. */
const estimateSchema = z.object({
  value: z.number().nullable(),
  interval: z.tuple([z.number(), z.number()]).nullable(),
});
export type WrittenEstimate = z.output<typeof estimateSchema>;

/**
 * `all`, a subset, `macro` for the mean over the subsets, or `macro without` a subset; the interval of a mean follows
 * from those of the subsets.
 */
const scope = z.string();
const measure = z.string();

/** Share of wrong responses whose first wrong step holds one of the k highest tokens (docs/design/evaluation.md, section 0.1). */
const tokenRow = z.object({
  scope,
  measure,
  n: z.int(),
  top3: estimateSchema,
  top5: estimateSchema,
  /** k = max(1, ⌈n/100⌉), the main one; rounded down, and to the nearest. */
  top1pct: estimateSchema,
  top1pctFloor: estimateSchema,
  top1pctRound: estimateSchema,
  /**
   * The same among all tokens but the first word of each step. There a step is begun in one of many ways, and what
   * measures likelihood has its highest scores whatever the step says.
   */
  innerTop3: estimateSchema,
  innerTop5: estimateSchema,
  innerTop1pct: estimateSchema,
});

/** Share of wrong responses whose first wrong step is among the k highest, ties broken at random (docs/design/evaluation.md, section 0.2). */
const stepRow = z.object({
  scope,
  measure,
  /** How a step's tokens become one number; `own` where the measure scores steps itself. */
  aggregation: z.enum(['sum', 'max', 'mean', 'own']),
  n: z.int(),
  top1: estimateSchema,
  top2: estimateSchema,
  top3: estimateSchema,
});

/** Is the final answer wrong (response), or the statement unsupported (claim)? */
const detectionRow = z.object({
  scope,
  measure,
  aggregation: z.enum(['sum', 'mean', 'max', 'own']),
  n: z.int(),
  positives: z.int(),
  auroc: estimateSchema,
  averagePrecision: estimateSchema,
});

/** Is the final answer wrong? */
const responseRow = detectionRow.extend({
  /**
   * Prediction–rejection ratio: the area of the accuracy of the answers that are left while those with the highest scores are
   * rejected, 0 for random rejection and 1 for an oracle.
   */
  prr: estimateSchema,
});

/** The same cases under two measures: the difference a − b, and its p-value. */
const pairedRow = z.object({
  level: z.enum(['token', 'step', 'response', 'claim', 'pooled']),
  metric: z.string(),
  a: measure,
  b: measure,
  /** Aggregation of both; if b scores steps itself, `own`, a is summed. `null` at the level of tokens. */
  aggregation: z.enum(['sum', 'max', 'mean', 'own']).nullable(),
  n: z.int(),
  difference: estimateSchema,
  test: z.enum(['mcnemar', 'bootstrap']),
  p: z.number(),
  /**
   * p-value adjusted by Holm's method, for as many tests as a has comparisons by this metric and aggregation
   * with measures at their usual settings; those with measures at other settings are apart.
   */
  adjusted: z.number(),
  tests: z.int(),
});

/** Pooled step detection: steps of right and wrong responses up to the first wrong one. */
const pooledRow = z.object({
  scope,
  measure,
  aggregation: z.enum(['sum', 'mean', 'max', 'own']),
  steps: z.int(),
  positives: z.int(),
  auroc: estimateSchema,
  averagePrecision: estimateSchema,
});

const efficiencyRow = z.object({
  measure,
  n: z.int(),
  /** Added time per response. */
  seconds: estimateSchema,
  /** The same, as a share of the time that generating the response took. */
  relative: estimateSchema,
  /** Bytes by which the process that scores grew at most, of all responses; `null` where the system does not tell. */
  memory: z.int().nullable(),
});

/** What the scores of whole answers are worth: where all answers are scored, whatever their results. */
const answers = z.object({
  /** Answers, and wrong ones. */
  n: z.int(),
  wrong: z.int(),
  /** The score with the highest AUROC, of so many; controls are none of them. `null` without a right or a wrong answer. */
  best: z.object({ measure, aggregation: responseRow.shape.aggregation, of: z.int() }).nullable(),
  /** All that follows is of the best score, unless it says otherwise. */
  reading: z
    .object({
      /** Share of the answers that is read, those with the highest scores, and how many answers that is. */
      share: z.number(),
      read: z.int(),
      /** Wrong ones among them, and how many there are among as many drawn at random. */
      found: estimateSchema,
      chance: z.number(),
    })
    .nullable(),
});

const claimCount = z.object({
  scope,
  problems: z.int(),
  truncated: z.int(),
  /** Number of responses with a claim that counts, and reasons why others have none. */
  responses: z.int(),
  rejected: z.record(z.string(), z.int()),
  supported: z.int(),
  unsupported: z.int(),
  /**
   * Claims that are left out: it cannot be told whether they are supported, or their words are not in the
   * response.
   */
  unlabelled: z.int(),
  unplaced: z.int(),
  /** Mean over the responses of the share of supported claims: FActScore without its penalty of short responses. */
  precision: estimateSchema,
});

/** Changes when a field is removed or gets another meaning. */
const FORMAT = 'flinch-evaluation/2';

export const evaluationSchema = z.object({
  format: z
    .literal(FORMAT, {
      error: 'is that of another version of flinch; repeat the command of the run, which evaluates it anew',
    })
    .default(FORMAT),
  suite: z.string(),
  model: z.object({
    name: z.string(),
    fingerprint: z.string(),
    parameters: z.int(),
    embeddingRms: z.number(),
  }),
  temperature: z.number(),
  /** Everything that the numbers depend on, choices marked [C] among them; the command that makes it again. */
  settings: z.record(z.string(), z.json()),
  command: z.string(),
  machine: z.object({ cpu: z.string(), cores: z.int(), node: z.string() }),
  counts: z.array(
    z.object({
      scope,
      problems: z.int(),
      truncated: z.int(),
      correct: z.int(),
      wrong: z.int(),
      /** Those that the check could not compare with the key; they are in no table. */
      unsure: z.int().default(0),
      /** How many answers were read as what, by what the keys are. */
      kinds: z.partialRecord(z.enum(ANSWER_KINDS), z.int()).default({}),
      /** Responses that came with their problem. */
      given: z.int().default(0),
      /** How many labels are whose. */
      labelledBy: z.partialRecord(checkSchema.shape.by, z.int()).default({}),
      /** Wrong ones with a first wrong step; why others have none. */
      located: z.int(),
      rejected: z.record(z.string(), z.int()),
      /** Spans that cover more than one step. */
      spanning: z.int(),
      accuracy: estimateSchema,
    }),
  ),
  /** Counts of suites that are judged by claims, which have no counts of answers. */
  claimCounts: z.array(claimCount),
  /** `null` where not all answers are scored, or claims are judged. */
  answers: answers.nullable(),
  /** Every scored answer is a single step: no table by token or step says anything, and all are empty. */
  singleStep: z.boolean(),
  tokens: z.array(tokenRow),
  steps: z.array(stepRow),
  responses: z.array(responseRow),
  claims: z.array(detectionRow),
  pooled: z.array(pooledRow),
  paired: z.array(pairedRow),
  efficiency: z.array(efficiencyRow),
});
export type Evaluation = z.output<typeof evaluationSchema>;
