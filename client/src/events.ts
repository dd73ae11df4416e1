/**
 * The messages of the server in `flinch.v1`, as gateway/PROTOCOL.md specifies them. These are plain types, so that an
 * application compiles against them without zod. schemas.ts validates the same; a test compares both.
 */

export const SUBPROTOCOL = 'flinch.v1';

export type Method =
  | 'adversarial'
  | 'random'
  | 'tokur_eu'
  | 'tokur_tu'
  | 'tokur_au'
  | 'nll'
  | 'entropy'
  | 'margin';
type Action = 'annotate' | 'stop' | 'rollback' | 'reflect';
type Delivery = 'immediate' | 'held';

/** One number per method; methods without a value are absent. */
export type Scores = Partial<Record<Method, number>>;

/** The position of an event in its generation. */
interface Place {
  response_id: string;
  /** 0 for `generation.created`, then 1, 2, 3 … without gaps. */
  offset: number;
}

/** What of an answer is not its text. */
export type Part = 'reasoning' | 'tool_calls';

/** A line of the response, or a sentence of a line, or a tool call. Every token belongs to exactly one step. */
interface Span {
  /** Counts the steps of the response from 0. */
  step: number;
  /** The step's tokens are `from` to `to - 1`. */
  from: number;
  to: number;
  text: string;
  /** Absent for a step of the text. */
  part?: Part | undefined;
}

/** The verdict of `method` on a token or step. */
interface Rating {
  method: Method;
  /** `null` if the schedule skipped all of it, or if a token has no score. */
  score: number | null;
  /** From 0 to 1. `null` if it is unknown, or if a token has no score: that is not a clean verdict. */
  risk: number | null;
  /** Whether a calibration holds for `method`. */
  calibrated: boolean;
}

/** The whole answer among ordinary answers. */
export interface Verdict {
  /** Whether `risk` is at least 1 − `rate`, or the guard stopped the answer. `null` if it is unknown: that is not a clean verdict. */
  flagged: boolean | null;
  /** Share of ordinary answers that score lower, from 0 to 1: a rank, not a probability of being wrong. `null` if it is unknown. */
  risk: number | null;
  /** Target share of ordinary answers that are flagged. */
  rate: number;
  flagged_steps: number;
  /** Settled steps; retracted ones do not count. */
  steps: number;
  /** Tokens without a score by the guard's method. Tokens that the schedule skips do not count. */
  unscored_tokens: number;
  /** Whether the calibration contains ordinary answers; otherwise `risk` is a running estimate. */
  calibrated: boolean;
  /** `stopped`, `unscored_tokens`, `unscored_parts`, `scorer_mismatch`, `too_few_answers` or `empty`; newer servers may send others. */
  reason: string | null;
}

/** The settings in force; the server sends more of them than listed here. */
interface GuardInForce {
  [setting: string]: unknown;
  enabled: boolean;
  methods: Method[];
  /** The method that steps are judged by. */
  method: Method;
  rate: number;
  delivery: Delivery;
  action: Action;
  /** Whether a calibration holds for `method`. */
  calibrated?: boolean | undefined;
  /** Which methods have no valid calibration, and why; and whether `rate` is too low for anything to be flagged. */
  warnings?: string[] | undefined;
  /** Name of the operator's policy; `null` where there is none. */
  policy?: string | null | undefined;
}

/** The other token whose probability grew most under the perturbation. */
export interface Rival {
  id: number;
  text: string;
  before: number;
  after: number;
}

export interface Usage {
  prompt_tokens: number;
  /** The response as it stands, without retracted tokens. */
  completion_tokens: number;
  total_tokens: number;
  /** Tokens of the prompt that were known from earlier texts of the client. Absent if an upstream writes. */
  prompt_tokens_details?: { cached_tokens: number } | undefined;
  /** All tokens written for the response, including candidates. Present if larger than `completion_tokens`. */
  generated_tokens?: number | undefined;
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

/**
 * `stop`, `length`, `cancelled`, `tool_calls`, or `content_filter`: the guard ended the generation. An upstream may send
 * further reasons.
 */
export type FinishReason = string;

/** The first event of every generation. */
interface GenerationCreated extends Place {
  type: 'generation.created';
  /** If the request had one. */
  request_id?: string | undefined;
  /** Seconds since 1970. */
  created: number;
  model: string;
  /** `null` if only the upstream counts them; `usage` has the number at the end. */
  prompt_tokens: number | null;
  guard: GuardInForce;
  /** Identifies the run of the server; needed to resume. */
  epoch: string;
  resumable: boolean;
}

interface TokenDelta extends Place {
  type: 'token.delta';
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
  /** The guard inserted this token; the model did not write it. */
  inserted?: true | undefined;
}

/** The scores of one token. A later event for the same `index` replaces the earlier one. */
interface ScoreDelta extends Place {
  type: 'score.delta';
  index: number;
  /** As in `token.delta`. */
  part?: Part | undefined;
  /** The gateway sends `stream`. */
  pass: 'stream' | 'final';
  scores: Scores;
  /** For each method that can be rated. */
  risk?: Scores | undefined;
  /** Methods that were skipped for this token: by the schedule, or for the `reason`. */
  skipped?: Method[] | undefined;
  /** `lag`: scoring was slower than writing, so the token stays unscored. */
  reason?: 'lag' | undefined;
  /** Methods that cannot be computed for this token. */
  missing?: Method[] | undefined;
  /** With `adversarial`. */
  rival?: Rival | undefined;
}

/** A token's risk passes the threshold. */
interface SpikeDetected extends Place, Rating {
  type: 'spike.detected';
  index: number;
}

/** The step is final: nothing before `to` is retracted or scored again. */
interface StepDone extends Place, Span, Rating {
  type: 'step.done';
  flagged: boolean;
  /** Tokens of the step without a score of `method` that should have one: they are `missing`, or skipped because of `lag`. */
  unscored?: number | undefined;
  /** With `delivery: "held"`: tokens written, and milliseconds elapsed, between the step's first token and its release. */
  held?: { tokens: number; ms: number } | undefined;
}

/** A step's risk passes the threshold. */
interface StepFlagged extends Place, Span, Rating {
  type: 'step.flagged';
  /** As in `step.done`. */
  unscored?: number | undefined;
  /** What the guard does about it. */
  action: Action;
}

/** The tokens from index `from` on are void, with their scores and spikes. */
interface TokenRetracted extends Place {
  type: 'token.retracted';
  from: number;
  /** How many tokens are void. */
  tokens: number;
}

/** The guard samples continuations in place of a flagged step. */
interface RollbackStarted extends Place {
  type: 'rollback.started';
  /** Counts the interventions of the response from 0: rollbacks and reflections. */
  rollback: number;
  step: number;
  /** The first token that is sampled again. */
  from: number;
  /** How many continuations are sampled. */
  candidates: number;
}

/** The guard has chosen a continuation. */
interface RollbackDone extends Place {
  type: 'rollback.done';
  rollback: number;
  step: number;
  outcome: 'replaced' | 'kept';
  /** Index into `candidates`. */
  chosen: number;
  /** The flagged step comes first. */
  candidates: { text: string; tokens: number; score: number | null }[];
}

/** The scorer probably has other weights than the server that writes: treat all scores as unreliable. */
interface ScorerMismatch extends Place {
  type: 'scorer.mismatch';
  /** How many tokens were compared. */
  tokens: number;
  /** Mean absolute difference of their log-probabilities, in nats. */
  difference: number;
  /** The largest difference that counts as rounding, in nats. */
  tolerance: number;
}

/** What the upstream sent beside the text of its answer, such as a tool call or reasoning. Its tokens come as `token.delta` with their `part`, if the upstream returns them. */
interface UpstreamDelta extends Place {
  type: 'upstream.delta';
  /** Tokens of the response that precede it. */
  at: number;
  /** A chunk of OpenAI's API without the text of its first choice, as the upstream sent it. */
  chunk: Record<string, unknown>;
  /** What of it has no scores, because its tokens are not known. */
  unscored: ('audio' | 'choices' | 'content' | 'reasoning' | 'refusal' | 'tool_calls')[];
}

interface GenerationDone extends Place {
  type: 'generation.done';
  finish_reason: FinishReason;
  usage: Usage;
  /** Absent without a guard, and if the generation was cancelled. */
  verdict?: Verdict | undefined;
}

/** The answer to `generation.resume`. */
interface GenerationResumed {
  type: 'generation.resumed';
  response_id: string;
  /** If the request had one. */
  request_id?: string | undefined;
  /** Whether the events from the requested offset on follow. */
  recovered: boolean;
}

/** Shows that the connection is alive. */
interface Heartbeat {
  type: 'heartbeat';
}

/** A request was refused, or a generation has failed. */
interface ErrorEvent {
  type: 'error';
  response_id?: string | undefined;
  /** With `response_id`: the last event of that generation. */
  offset?: number | undefined;
  request_id?: string | undefined;
  error: ErrorBody;
}

/** Events of a generation, which have a position in it. */
export type GenerationEvent =
  | GenerationCreated
  | TokenDelta
  | ScoreDelta
  | SpikeDetected
  | StepDone
  | StepFlagged
  | TokenRetracted
  | RollbackStarted
  | RollbackDone
  | ScorerMismatch
  | UpstreamDelta
  | GenerationDone;

export type ServerEvent = GenerationEvent | GenerationResumed | Heartbeat | ErrorEvent;

/** The event of a type: `EventOf<'token.delta'>`. */
export type EventOf<Type extends ServerEvent['type']> = Extract<ServerEvent, { type: Type }>;

/** An event of a type that a newer server knows; with `response_id` it takes its place in the order. */
export interface UnknownEvent {
  readonly type: 'unknown';
  readonly response_id?: string | undefined;
  readonly offset?: number | undefined;
}
