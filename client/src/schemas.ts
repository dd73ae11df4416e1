// `zod/mini` as a namespace: a bundler keeps only what is used, a twentieth of zod.
import * as z from 'zod/mini';
import { METHODS } from './client-methods.js';

/**
 * The server's messages of `flinch.v1` (gateway/PROTOCOL.md) as schemas. The server's tests validate its events with
 * them, clients read events with `readEvent`, and the types of events (event-types.ts), the OpenAPI file and
 * docs/reference are generated from them. No Node, no DOM: the same file runs in the gateway and in browsers.
 */

/** The schema with a description. It is no check, which would cost time at each event. */
function about<Schema extends z.ZodMiniType>(description: string, schema: Schema): Schema {
  const described = schema.clone();
  z.globalRegistry.add<z.ZodMiniType>(described, { description });
  return described;
}

const index = z.int().check(z.minimum(0));
const share = z.nullable(z.number().check(z.minimum(0), z.maximum(1)));
const method = z.enum(METHODS);
const methods = z.array(method);
const scores = about(
  'One number per method; methods without a value are absent.',
  z.partialRecord(method, z.number()),
);
const action = z.enum(['annotate', 'stop', 'rollback']);
const guardAction = z.enum(['annotate', 'stop', 'rollback', 'escalate', 'vote']);
const part = about('What of an answer is not its text.', z.enum(['reasoning', 'tool_calls']));

const rival = about(
  'The other token whose probability grew most under the perturbation.',
  z.object({ id: z.int(), text: z.string(), before: z.number(), after: z.number() }),
);

const usage = z.object({
  prompt_tokens: about('`null` if an upstream writes that does not say.', z.nullable(z.int())),
  completion_tokens: about('The response as it stands, without retracted tokens.', z.int()),
  total_tokens: about('`null` if `prompt_tokens` is.', z.nullable(z.int())),
  prompt_tokens_details: about(
    'Tokens of the prompt that were known from earlier texts of the client. Absent if an upstream writes.',
    z.optional(z.object({ cached_tokens: z.int() })),
  ),
  generated_tokens: about(
    'All tokens written for the response, including candidates. Present if larger than `completion_tokens`.',
    z.optional(z.int()),
  ),
});

const verdict = about(
  'The whole answer among ordinary answers.',
  z.object({
    advice: about(
      'What to do with the answer: `check` it if it or a step of it is flagged; `ordinary` if not. `null` if that is unknown. Older servers do not send it.',
      z.optional(z.nullable(z.enum(['check', 'ordinary']))),
    ),
    flagged: about(
      'Whether `risk` is at least 1 − `rate`, or the guard stopped the answer. `null` if it is unknown: that is not a clean verdict.',
      z.nullable(z.boolean()),
    ),
    risk: about(
      'Share of ordinary answers that score lower, from 0 to 1: a rank, not a probability of being wrong. `null` if it is unknown.',
      share,
    ),
    rate: about('Target share of ordinary answers that are flagged.', z.number()),
    flagged_steps: z.int(),
    steps: about('Settled steps; retracted ones do not count.', z.int()),
    unscored_tokens: about("Tokens without a score by the guard's method.", z.int()),
    calibrated: about(
      'Whether the calibration contains ordinary answers; otherwise `risk` is a running estimate.',
      z.boolean(),
    ),
    reason: about(
      '`stopped`, `unscored_tokens`, `unscored_parts`, `scorer_mismatch`, `too_few_answers` or `empty`; newer servers may send others.',
      z.nullable(z.string()),
    ),
  }),
);

const guardInForce = about(
  'The settings in force; the server sends more of them than listed here.',
  z.looseObject({
    enabled: z.boolean(),
    methods,
    method: about('The method that steps are judged by.', method),
    rate: z.number(),
    delivery: z.enum(['immediate', 'held']),
    action: guardAction,
    budget: about('Share of all answers that are replaced, if it was set.', z.optional(z.number())),
    calibrated: about('Whether a calibration holds for `method`.', z.optional(z.boolean())),
    estimate: about(
      'Without a calibration: how many earlier answers of this client there are to compare an answer with, and how many are needed.',
      z.optional(z.object({ answers: z.int(), needed: z.int() })),
    ),
    warnings: about(
      'Which methods have no valid calibration, and why; and whether `rate` is too low for anything to be flagged.',
      z.optional(z.array(z.string())),
    ),
    policy: about(
      "Name of the operator's policy; `null` where there is none.",
      z.optional(z.nullable(z.string())),
    ),
  }),
);

const errorBody = about(
  "OpenAI's error object.",
  z.object({
    message: about('For people.', z.string()),
    type: z.string(),
    param: about('The field at fault.', z.nullable(z.string())),
    code: about('For programs.', z.string()),
  }),
);

/** Schemas with a name of their own in event-types.ts. */
export const NAMED_SCHEMAS = {
  Method: method,
  Scores: scores,
  Part: part,
  Verdict: verdict,
  Rival: rival,
  Usage: usage,
  GuardInForce: guardInForce,
  ErrorBody: errorBody,
} as const;

/** The verdict of `method` on a token or step. */
const rating = {
  method,
  score: about('`null` if a token has no score, or if scoring skipped all of it.', z.nullable(z.number())),
  risk: about(
    'From 0 to 1. `null` if it is unknown, or if a token has no score: that is not a clean verdict.',
    share,
  ),
  calibrated: about('Whether a calibration holds for `method`.', z.boolean()),
};

/** A line of the response, or a sentence of a line, or a tool call. Every token belongs to exactly one step. */
const span = {
  step: about('Counts the steps of the response from 0.', index),
  from: about("The step's tokens are `from` to `to - 1`.", index),
  to: index,
  text: z.string(),
  part: about('Absent for a step of the text.', z.optional(part)),
};

/** The position of an event in its generation. */
const place = {
  response_id: z.string(),
  offset: about('0 for `generation.created`, then 1, 2, 3 … without gaps.', index),
};

/** How an answer has ended. */
const end = {
  finish_reason: about(
    '`stop`, `length`, `cancelled`, `tool_calls`, `content_filter` (the guard ended it), or what else an upstream says.',
    z.string(),
  ),
  usage,
  verdict: about('Absent without a guard, and if the generation was cancelled.', z.optional(verdict)),
  usage_by_model: about(
    'Usage of all answers of each model, if others were written in place of the first one; `usage` is that of the returned answer.',
    z.optional(z.record(z.string(), usage)),
  ),
};

const requestId = about('If the request had one.', z.optional(z.string()));
const unscored = about(
  'Tokens of the step without a score of `method` that should have one: they are `missing`, or skipped because of `lag`.',
  z.optional(z.int()),
);

/** Events of a generation, which have a position in it. */
export const GENERATION_EVENTS = {
  'generation.created': about(
    'The first event of every generation.',
    z.object({
      type: z.literal('generation.created'),
      ...place,
      request_id: requestId,
      created: about('Seconds since 1970.', z.int()),
      model: z.string(),
      prompt_tokens: about(
        '`null` if only the upstream counts them; `usage` has the number at the end.',
        z.nullable(z.int()),
      ),
      guard: guardInForce,
      epoch: about('Identifies the run of the server; needed to resume.', z.string()),
      resumable: about(
        "`false` although it was requested: the gateways' shared state was away.",
        z.boolean(),
      ),
    }),
  ),
  'token.delta': about(
    'One token of the response.',
    z.object({
      type: z.literal('token.delta'),
      ...place,
      index: about('Counts the tokens of the response from 0.', index),
      id: about(
        '`null` if neither the upstream nor a scorer identifies the token in its vocabulary.',
        z.nullable(z.int()),
      ),
      text: about(
        'Empty if a character takes several tokens (the last of them carries it), and for tokens of another part.',
        z.string(),
      ),
      part: about(
        "Absent for the answer's text. Tokens of another part do not belong to it.",
        z.optional(part),
      ),
      part_text: about(
        'With `part`: what the model wrote, with marks such as `<think>`.',
        z.optional(z.string()),
      ),
      call: about('With `part: "tool_calls"`: which call, as the upstream counts them.', z.optional(index)),
      logprob: about(
        'Natural logarithm of the probability at temperature 1. `null` if the upstream does not report it.',
        z.nullable(z.number()),
      ),
      top_logprobs: about(
        'If requested; most probable first.',
        z.optional(z.array(z.object({ id: z.nullable(z.int()), text: z.string(), logprob: z.number() }))),
      ),
    }),
  ),
  'score.delta': about(
    'The scores of one token. A later event for the same `index` replaces the earlier one: it repeats the scores that came with the token and adds those of passes.',
    z.object({
      type: z.literal('score.delta'),
      ...place,
      index,
      part: about('That of the token.', z.optional(part)),
      pass: about('The gateway sends `stream`.', z.enum(['stream', 'final'])),
      scores,
      risk: about('For each method that can be rated.', z.optional(scores)),
      skipped: about('Methods that were skipped for this token, for the `reason`.', z.optional(methods)),
      reason: about(
        '`lag`: scoring was slower than writing, so the token stays unscored.',
        z.optional(z.literal('lag')),
      ),
      missing: about('Methods that cannot be computed for this token.', z.optional(methods)),
      pending: about('Methods whose scores follow in a later event for this `index`.', z.optional(methods)),
      rival: about(
        'With `adversarial`: the other token whose probability grew most under the perturbation, if any grew.',
        z.optional(rival),
      ),
    }),
  ),
  'step.done': about(
    'The step is final: nothing before `to` is retracted, and only scores that are `pending` follow.',
    z.object({
      type: z.literal('step.done'),
      ...place,
      ...span,
      ...rating,
      flagged: z.boolean(),
      unscored,
      held: about(
        'With `delivery: "held"`: tokens written, and milliseconds elapsed, between the step\'s first token and its release.',
        z.optional(z.object({ tokens: z.int(), ms: z.number() })),
      ),
    }),
  ),
  'step.flagged': about(
    "A step's risk passes the threshold.",
    z.object({
      type: z.literal('step.flagged'),
      ...place,
      ...span,
      ...rating,
      unscored,
      action: about('What the guard does about it.', action),
    }),
  ),
  'token.retracted': about(
    'The tokens from index `from` on are void, with their scores.',
    z.object({
      type: z.literal('token.retracted'),
      ...place,
      from: index,
      tokens: about('How many tokens are void.', z.int()),
    }),
  ),
  'rollback.started': about(
    'The guard samples continuations in place of a flagged step.',
    z.object({
      type: z.literal('rollback.started'),
      ...place,
      rollback: about('Counts the rollbacks of the response from 0.', index),
      step: index,
      from: about('The first token of the step.', index),
      candidates: about('How many continuations are sampled.', z.int()),
    }),
  ),
  'rollback.done': about(
    'The guard has chosen a continuation.',
    z.object({
      type: z.literal('rollback.done'),
      ...place,
      rollback: index,
      step: index,
      outcome: z.enum(['replaced', 'kept']),
      chosen: about('Index into `candidates`.', index),
      candidates: about(
        'The flagged step comes first.',
        z.array(z.object({ text: z.string(), tokens: z.int(), score: z.nullable(z.number()) })),
      ),
    }),
  ),
  'scorer.mismatch': about(
    'The scorer probably has other weights than the server that writes: treat all scores as unreliable.',
    z.object({
      type: z.literal('scorer.mismatch'),
      ...place,
      tokens: about('How many tokens were compared.', z.int()),
      difference: about('Mean absolute difference of their log-probabilities, in nats.', z.number()),
      tolerance: about('The largest difference that counts as rounding, in nats.', z.number()),
    }),
  ),
  'upstream.delta': about(
    'What the upstream sent beside the text of its answer, such as a tool call or reasoning. Its tokens come as `token.delta` with their `part`, if the upstream returns them.',
    z.object({
      type: z.literal('upstream.delta'),
      ...place,
      at: about('Tokens of the response that precede it.', index),
      chunk: about(
        "A chunk of OpenAI's API without the text of its first choice, as the upstream sent it.",
        z.record(z.string(), z.unknown()),
      ),
      unscored: about(
        'What of it has no scores, because its tokens are not known.',
        z.array(z.enum(['audio', 'choices', 'content', 'reasoning', 'refusal', 'tool_calls'])),
      ),
      warnings: about('What else is to be known of the scores.', z.optional(z.array(z.string()))),
    }),
  ),
  'generation.escalated': about(
    'With `action: "escalate"`: another model was asked in place of the first one. If it answers, all tokens, steps and scores before are void, and `index` and `step` count from 0 again.',
    z.object({
      type: z.literal('generation.escalated'),
      ...place,
      to: about('Model that was asked.', z.string()),
      failed: about(
        'Code of the error for which it does not answer: then the first answer stays. `null` if it answers.',
        z.nullable(z.string()),
      ),
      risk: about('Of the first answer, as in a verdict.', share),
      guard: about('The settings in force for its answer, if it answers.', z.optional(guardInForce)),
    }),
  ),
  'generation.voted': about(
    'With `action: "vote"`: further answers were drawn, and the one that most agree with is returned. With `replaced`, all tokens, steps and scores before are void, and `index` and `step` count from 0 again.',
    z.object({
      type: z.literal('generation.voted'),
      ...place,
      answers: about('Answers that were written, the first one included.', z.int()),
      agreed: about(
        'Those that say what the returned one says; 0 if it says nothing that can be compared. If the first one is such, no further answer is written.',
        z.int(),
      ),
      replaced: about('Whether another answer than the first one is returned.', z.boolean()),
      failed: about(
        'Code of the error for which an answer was not written; those that were decide. `null` if none failed.',
        z.nullable(z.string()),
      ),
      risk: about('Of the first answer, as in a verdict.', share),
    }),
  ),
  'text.done': about(
    'The text is complete and judged, and scores that are `pending` follow. Comes only if some are.',
    z.object({ type: z.literal('text.done'), ...place, ...end }),
  ),
  'generation.done': about(
    'The generation has ended. After `text.done` it says the same.',
    z.object({ type: z.literal('generation.done'), ...place, ...end }),
  ),
} as const;

/** Messages about a request or the connection. */
export const CONNECTION_EVENTS = {
  'generation.resumed': about(
    'The answer to `generation.resume`.',
    z.object({
      type: z.literal('generation.resumed'),
      response_id: z.string(),
      request_id: requestId,
      recovered: about('Whether the events from the requested offset on follow.', z.boolean()),
    }),
  ),
  heartbeat: about('Shows that the connection is alive.', z.object({ type: z.literal('heartbeat') })),
  error: about(
    'A request was refused, or a generation has failed.',
    z.object({
      type: z.literal('error'),
      response_id: z.optional(z.string()),
      offset: about('With `response_id`: the last event of that generation.', z.optional(index)),
      request_id: z.optional(z.string()),
      error: errorBody,
    }),
  ),
} as const;
