// Written by `npm run schemas` from client/src/schemas.ts; changes are made there.

import type { Method } from './client-methods.js';

/** One number per method; methods without a value are absent. */
export type Scores = Partial<Record<Method, number>>;

/** What of an answer is not its text. */
export type Part = 'reasoning' | 'tool_calls';

/** The whole answer among ordinary answers. */
export interface Verdict {
  /** What to do with the answer: `check` it if it or a step of it is flagged; `ordinary` if not. `null` if that is unknown. Older servers do not send it. */
  advice?: 'check' | 'ordinary' | null | undefined;
  /** Whether `risk` is at least 1 − `rate`, or the guard stopped the answer. `null` if it is unknown: that is not a clean verdict. */
  flagged: boolean | null;
  /** Share of ordinary answers that score lower, from 0 to 1: a rank, not a probability of being wrong. `null` if it is unknown. */
  risk: number | null;
  /** Target share of ordinary answers that are flagged. */
  rate: number;
  flagged_steps: number;
  /** Settled steps; retracted ones do not count. */
  steps: number;
  /** Tokens without a score by the guard's method. */
  unscored_tokens: number;
  /** Whether the calibration contains ordinary answers; otherwise `risk` is a running estimate. */
  calibrated: boolean;
  /** `stopped`, `unscored_tokens`, `unscored_parts`, `scorer_mismatch`, `too_few_answers` or `empty`; newer servers may send others. */
  reason: string | null;
}

/** The other token whose probability grew most under the perturbation. */
export interface Rival {
  id: number;
  text: string;
  before: number;
  after: number;
}

export interface Usage {
  /** `null` if an upstream writes that does not say. */
  prompt_tokens: number | null;
  /** The response as it stands, without retracted tokens. */
  completion_tokens: number;
  /** `null` if `prompt_tokens` is. */
  total_tokens: number | null;
  /** Tokens of the prompt that were known from earlier texts of the client. Absent if an upstream writes. */
  prompt_tokens_details?: { cached_tokens: number } | undefined;
  /** All tokens written for the response, including candidates. Present if larger than `completion_tokens`. */
  generated_tokens?: number | undefined;
}

/** The settings in force; the server sends more of them than listed here. */
export interface GuardInForce {
  [field: string]: unknown;
  enabled: boolean;
  methods: Method[];
  /** The method that steps are judged by. */
  method: Method;
  rate: number;
  delivery: 'immediate' | 'held';
  action: 'annotate' | 'stop' | 'rollback' | 'escalate' | 'vote';
  /** Share of all answers that are replaced, if it was set. */
  budget?: number | undefined;
  /** Whether a calibration holds for `method`. */
  calibrated?: boolean | undefined;
  /** Without a calibration: how many earlier answers of this client there are to compare an answer with, and how many are needed. */
  estimate?: { answers: number; needed: number } | undefined;
  /** Which methods have no valid calibration, and why; and whether `rate` is too low for anything to be flagged. */
  warnings?: string[] | undefined;
  /** Name of the operator's policy; `null` where there is none. */
  policy?: string | null | undefined;
}

/** OpenAI's error object. */
export interface ErrorBody {
  /** For people. */
  message: string;
  type: string;
  /** The field at fault. */
  param: string | null;
  /** For programs. */
  code: string;
}

/** The first event of every generation. */
interface GenerationCreatedEvent {
  type: 'generation.created';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** If the request had one. */
  request_id?: string | undefined;
  /** Seconds since 1970. */
  created: number;
  model: string;
  /** `null` if only the upstream counts them; `usage` has the number at the end. */
  prompt_tokens: number | null;
  /** The settings in force; the server sends more of them than listed here. */
  guard: GuardInForce;
  /** Identifies the run of the server; needed to resume. */
  epoch: string;
  /** `false` although it was requested: the gateways' shared state was away. */
  resumable: boolean;
}

/** One token of the response. */
interface TokenDeltaEvent {
  type: 'token.delta';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Counts the tokens of the response from 0. */
  index: number;
  /** `null` if neither the upstream nor a scorer identifies the token in its vocabulary. */
  id: number | null;
  /** Empty if a character takes several tokens (the last of them carries it), and for tokens of another part. */
  text: string;
  /** Absent for the answer's text. Tokens of another part do not belong to it. */
  part?: Part | undefined;
  /** With `part`: what the model wrote, with marks such as `<think>`. */
  part_text?: string | undefined;
  /** With `part: "tool_calls"`: which call, as the upstream counts them. */
  call?: number | undefined;
  /** Natural logarithm of the probability at temperature 1. `null` if the upstream does not report it. */
  logprob: number | null;
  /** If requested; most probable first. */
  top_logprobs?: { id: number | null; text: string; logprob: number }[] | undefined;
}

/** The scores of one token. A later event for the same `index` replaces the earlier one: it repeats the scores that came with the token and adds those of passes. */
interface ScoreDeltaEvent {
  type: 'score.delta';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  index: number;
  /** That of the token. */
  part?: Part | undefined;
  /** The gateway sends `stream`. */
  pass: 'stream' | 'final';
  /** One number per method; methods without a value are absent. */
  scores: Scores;
  /** For each method that can be rated. */
  risk?: Scores | undefined;
  /** Methods that were skipped for this token, for the `reason`. */
  skipped?: Method[] | undefined;
  /** `lag`: scoring was slower than writing, so the token stays unscored. */
  reason?: 'lag' | undefined;
  /** Methods that cannot be computed for this token. */
  missing?: Method[] | undefined;
  /** Methods whose scores follow in a later event for this `index`. */
  pending?: Method[] | undefined;
  /** With `adversarial`: the other token whose probability grew most under the perturbation, if any grew. */
  rival?: Rival | undefined;
}

/** The step is final: nothing before `to` is retracted, and only scores that are `pending` follow. */
interface StepDoneEvent {
  type: 'step.done';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Counts the steps of the response from 0. */
  step: number;
  /** The step's tokens are `from` to `to - 1`. */
  from: number;
  to: number;
  text: string;
  /** Absent for a step of the text. */
  part?: Part | undefined;
  method: Method;
  /** `null` if a token has no score, or if scoring skipped all of it. */
  score: number | null;
  /** From 0 to 1. `null` if it is unknown, or if a token has no score: that is not a clean verdict. */
  risk: number | null;
  /** Whether a calibration holds for `method`. */
  calibrated: boolean;
  flagged: boolean;
  /** Tokens of the step without a score of `method` that should have one: they are `missing`, or skipped because of `lag`. */
  unscored?: number | undefined;
  /** With `delivery: "held"`: tokens written, and milliseconds elapsed, between the step's first token and its release. */
  held?: { tokens: number; ms: number } | undefined;
}

/** A step's risk passes the threshold. */
interface StepFlaggedEvent {
  type: 'step.flagged';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Counts the steps of the response from 0. */
  step: number;
  /** The step's tokens are `from` to `to - 1`. */
  from: number;
  to: number;
  text: string;
  /** Absent for a step of the text. */
  part?: Part | undefined;
  method: Method;
  /** `null` if a token has no score, or if scoring skipped all of it. */
  score: number | null;
  /** From 0 to 1. `null` if it is unknown, or if a token has no score: that is not a clean verdict. */
  risk: number | null;
  /** Whether a calibration holds for `method`. */
  calibrated: boolean;
  /** Tokens of the step without a score of `method` that should have one: they are `missing`, or skipped because of `lag`. */
  unscored?: number | undefined;
  /** What the guard does about it. */
  action: 'annotate' | 'stop' | 'rollback';
}

/** The tokens from index `from` on are void, with their scores. */
interface TokenRetractedEvent {
  type: 'token.retracted';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  from: number;
  /** How many tokens are void. */
  tokens: number;
}

/** The guard samples continuations in place of a flagged step. */
interface RollbackStartedEvent {
  type: 'rollback.started';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Counts the rollbacks of the response from 0. */
  rollback: number;
  step: number;
  /** The first token of the step. */
  from: number;
  /** How many continuations are sampled. */
  candidates: number;
}

/** The guard has chosen a continuation. */
interface RollbackDoneEvent {
  type: 'rollback.done';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  rollback: number;
  step: number;
  outcome: 'replaced' | 'kept';
  /** Index into `candidates`. */
  chosen: number;
  /** The flagged step comes first. */
  candidates: { text: string; tokens: number; score: number | null }[];
}

/** The scorer probably has other weights than the server that writes: treat all scores as unreliable. */
interface ScorerMismatchEvent {
  type: 'scorer.mismatch';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** How many tokens were compared. */
  tokens: number;
  /** Mean absolute difference of their log-probabilities, in nats. */
  difference: number;
  /** The largest difference that counts as rounding, in nats. */
  tolerance: number;
}

/** What the upstream sent beside the text of its answer, such as a tool call or reasoning. Its tokens come as `token.delta` with their `part`, if the upstream returns them. */
interface UpstreamDeltaEvent {
  type: 'upstream.delta';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Tokens of the response that precede it. */
  at: number;
  /** A chunk of OpenAI's API without the text of its first choice, as the upstream sent it. */
  chunk: Record<string, unknown>;
  /** What of it has no scores, because its tokens are not known. */
  unscored: ('audio' | 'choices' | 'content' | 'reasoning' | 'refusal' | 'tool_calls')[];
  /** What else is to be known of the scores. */
  warnings?: string[] | undefined;
}

/** With `action: "escalate"`: another model was asked in place of the first one. If it answers, all tokens, steps and scores before are void, and `index` and `step` count from 0 again. */
interface GenerationEscalatedEvent {
  type: 'generation.escalated';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Model that was asked. */
  to: string;
  /** Code of the error for which it does not answer: then the first answer stays. `null` if it answers. */
  failed: string | null;
  /** Of the first answer, as in a verdict. */
  risk: number | null;
  /** The settings in force for its answer, if it answers. */
  guard?: GuardInForce | undefined;
}

/** With `action: "vote"`: further answers were drawn, and the one that most agree with is returned. With `replaced`, all tokens, steps and scores before are void, and `index` and `step` count from 0 again. */
interface GenerationVotedEvent {
  type: 'generation.voted';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** Answers that were written, the first one included. */
  answers: number;
  /** Those that say what the returned one says; 0 if it says nothing that can be compared. If the first one is such, no further answer is written. */
  agreed: number;
  /** Whether another answer than the first one is returned. */
  replaced: boolean;
  /** Code of the error for which an answer was not written; those that were decide. `null` if none failed. */
  failed: string | null;
  /** Of the first answer, as in a verdict. */
  risk: number | null;
}

/** The text is complete and judged, and scores that are `pending` follow. Comes only if some are. */
interface TextDoneEvent {
  type: 'text.done';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** `stop`, `length`, `cancelled`, `tool_calls`, `content_filter` (the guard ended it), or what else an upstream says. */
  finish_reason: string;
  usage: Usage;
  /** Absent without a guard, and if the generation was cancelled. */
  verdict?: Verdict | undefined;
  /** Usage of all answers of each model, if others were written in place of the first one; `usage` is that of the returned answer. */
  usage_by_model?: Record<string, Usage> | undefined;
}

/** The generation has ended. After `text.done` it says the same. */
interface GenerationDoneEvent {
  type: 'generation.done';
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
  /** `stop`, `length`, `cancelled`, `tool_calls`, `content_filter` (the guard ended it), or what else an upstream says. */
  finish_reason: string;
  usage: Usage;
  /** Absent without a guard, and if the generation was cancelled. */
  verdict?: Verdict | undefined;
  /** Usage of all answers of each model, if others were written in place of the first one; `usage` is that of the returned answer. */
  usage_by_model?: Record<string, Usage> | undefined;
}

/** Events of a generation, which have a position in it. */
export type GenerationEvent =
  | GenerationCreatedEvent
  | TokenDeltaEvent
  | ScoreDeltaEvent
  | StepDoneEvent
  | StepFlaggedEvent
  | TokenRetractedEvent
  | RollbackStartedEvent
  | RollbackDoneEvent
  | ScorerMismatchEvent
  | UpstreamDeltaEvent
  | GenerationEscalatedEvent
  | GenerationVotedEvent
  | TextDoneEvent
  | GenerationDoneEvent;

/** The answer to `generation.resume`. */
interface GenerationResumedEvent {
  type: 'generation.resumed';
  response_id: string;
  /** If the request had one. */
  request_id?: string | undefined;
  /** Whether the events from the requested offset on follow. */
  recovered: boolean;
}

/** Shows that the connection is alive. */
interface HeartbeatEvent {
  type: 'heartbeat';
}

/** A request was refused, or a generation has failed. */
interface ErrorEvent {
  type: 'error';
  response_id?: string | undefined;
  /** With `response_id`: the last event of that generation. */
  offset?: number | undefined;
  request_id?: string | undefined;
  /** OpenAI's error object. */
  error: ErrorBody;
}

/** Messages about a request or the connection. */
export type ConnectionEvent = GenerationResumedEvent | HeartbeatEvent | ErrorEvent;
