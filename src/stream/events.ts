import type { Rival } from '../engine/engine-messages.js';
import type { TokenStatistics } from '../numerics/token-statistics.js';
import type { Part, PartOf } from '../steps/text-part.js';
import type { StepSpan } from '../steps/token-steps.js';
import type { Method, Scores } from '../uncertainty/method-names.js';

/** A token of the vocabulary with its log-probability. An upstream may name it by its text alone. */
export interface TopToken {
  readonly id: number | null;
  /** Present if there is no id. */
  readonly text?: string;
  /** What an upstream calls it that tells no text of it, such as `token_id:4711`. */
  readonly name?: string;
  readonly bytes?: readonly number[];
  readonly logprob: number;
}

export interface TokenEvent extends PartOf {
  readonly type: 'token.delta';
  /** Counts the tokens of the response from 0. */
  readonly index: number;
  /** `null` where neither the server that writes nor a scorer says which token of the vocabulary it is. */
  readonly id: number | null;
  readonly text: string;
  /** As of a {@link TopToken}: its text is that which came with it. */
  readonly name?: string;
  /** Natural log, temperature 1; `null` if the writer does not report it. */
  readonly logprob: number | null;
  /** Most probable first. */
  readonly topLogprobs: readonly TopToken[];
  /** Its entropy and margin, of an engine that was asked for them. */
  readonly statistics?: TokenStatistics;
}

/**
 * The scores of one token. If passes follow the text, those that came with it are first, and all of them come later, in an
 * event that replaces the first.
 */
export interface ScoreEvent {
  readonly type: 'score.delta';
  readonly index: number;
  /** Part of the token. */
  readonly part?: Part;
  /** `stream`: under the streaming schedule, the only kind that flags may use. */
  readonly pass: 'stream' | 'final';
  readonly scores: Scores;
  /** Methods that were left out for this token: not a score of zero. */
  readonly skipped: readonly Method[];
  /** Why they were left out: scoring was behind (`lag`), and the token stays unscored. */
  readonly reason?: 'lag';
  /**
   * Methods that cannot be computed for this token, because its log-probability is not reported: it stays
   * unscored.
   */
  readonly missing?: readonly Method[];
  /** Methods that follow in a later event for this token. */
  readonly pending?: readonly Method[];
  readonly rival: (Rival & Pick<TopToken, 'text'>) | null;
  /** Once rated: the share of ordinary tokens that score lower, in [0, 1]; none for what cannot be rated yet. */
  readonly risk?: Scores;
}

/**
 * Parts of an upstream's answer that have no scores: they are not the text, and their tokens are not
 * reported.
 */
export type Unscored = 'audio' | 'choices' | 'content' | 'reasoning' | 'refusal' | 'tool_calls';

/**
 * Data that an upstream sent beside the text of its answer, such as a tool call: it is passed on as it came,
 * in its place.
 */
export interface UpstreamEvent {
  readonly type: 'upstream.delta';
  /** Tokens of the response that precede it. */
  readonly at: number;
  /** A chunk of OpenAI's API without what tokens tell: the text of its first choice, and the log-probabilities of that. */
  readonly chunk: Readonly<Record<string, unknown>>;
  readonly unscored: readonly Unscored[];
  /** What else is to be known of the scores. */
  readonly warnings?: readonly string[];
}

/** Why a response ends. An upstream may have reasons of its own. */
export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | (string & {});

/**
 * Another model was asked to answer in place of the one that wrote. If it answers, all before this event is void, and tokens
 * and steps count from 0 again.
 */
export interface EscalatedEvent {
  readonly type: 'generation.escalated';
  /** Model that was asked. */
  readonly to: string;
  /** Why it does not answer, as a code for programs; `null` if it does. */
  readonly failed: string | null;
  /** Of the first answer: see {@link Verdict}. */
  readonly risk: number | null;
  /** Settings in force for the other model's answer; absent if it does not answer. */
  readonly guard?: object;
}

/**
 * Further answers were drawn, as the first one was doubtful, and the one that most agree with is returned. If that is another
 * one than the first, all before this event is void, and tokens and steps count from 0 again.
 */
export interface VotedEvent {
  readonly type: 'generation.voted';
  /** Answers that were written, the first one included. */
  readonly answers: number;
  /** Those that say what the returned one says; 0 if it says nothing that can be compared. */
  readonly agreed: number;
  /** Whether another answer than the first one is returned. */
  readonly replaced: boolean;
  /** Why an answer was not written, as a code for programs; `null` if none failed. */
  readonly failed: string | null;
  /** Of the first answer: see {@link Verdict}. */
  readonly risk: number | null;
}

/**
 * The text is complete and judged, and scores of some of its tokens follow. {@link DoneEvent} repeats the fields when all are
 * there.
 */
export interface TextDoneEvent extends Omit<DoneEvent, 'type'> {
  readonly type: 'text.done';
}

export interface DoneEvent {
  readonly type: 'generation.done';
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  /** Verdict on the answer as a whole; absent without a guard. */
  readonly verdict?: Verdict;
  /** Usage of all answers of each model, where answers were written in place of the first one. */
  readonly usageByModel?: Readonly<Record<string, Usage>>;
}

/**
 * Why a verdict is not the rank alone. `stopped`: the guard ended the answer. The others keep it from being unflagged:
 * `unscored_tokens`; `unscored_parts`, such as tool calls; `scorer_mismatch`; `too_few_answers` are known for a rank, or for one that the rate asks for;
 * `empty`: the model wrote nothing.
 */
export const VERDICT_REASONS = [
  'stopped',
  'unscored_tokens',
  'unscored_parts',
  'scorer_mismatch',
  'too_few_answers',
  'empty',
] as const;

/** One answer among ordinary answers. */
export interface Verdict {
  /**
   * Whether the risk is at least 1 − rate, or the guard stopped the answer; `null` if that cannot be ruled
   * out.
   */
  readonly flagged: boolean | null;
  /** Share of ordinary answers that score lower, in [0, 1]; `null` while too few are known to tell, and without a score. */
  readonly risk: number | null;
  /** Target share of ordinary answers that are flagged. */
  readonly rate: number;
  /** Number of the settled steps that are flagged. */
  readonly flaggedSteps: number;
  readonly steps: number;
  /** Tokens of the model without a score, those passed over included. */
  readonly unscoredTokens: number;
  /** Whether ordinary answers were collected beforehand (`flinch calibrate`), or are those seen so far. */
  readonly calibrated: boolean;
  readonly reason: (typeof VERDICT_REASONS)[number] | null;
  /**
   * Rank as in `risk`, among all answers of a calibration, right or wrong: for a test of drift. Not sent to
   * clients.
   */
  readonly rank?: number;
  /** Of the whole answer ({@link answerScore}); absent if nothing was scored. Not sent to clients. */
  readonly score?: number;
}

export interface Usage {
  /** `null` if an upstream writes that does not say. */
  readonly promptTokens: number | null;
  /** Prompt tokens known from earlier texts; only if the engine writes. */
  readonly cachedTokens?: number;
  /** Tokens of the response as it stands; `null` if an upstream that does not say writes it, and nothing reads it. */
  readonly completionTokens: number | null;
  /** All that were written, also those of candidates and of what was retracted; where a guard may do so. */
  readonly generatedTokens?: number;
}

/** Events of an unguarded generation. If it fails, the Observable ends with an error. */
export type GenerationEvent = TokenEvent | ScoreEvent | TextDoneEvent | DoneEvent | UpstreamEvent;

/** Events of the writer of a response. */
export type WrittenEvent = TokenEvent | DoneEvent | UpstreamEvent;

/** A score and where it stands among ordinary ones. */
export interface Rating {
  readonly method: Method;
  /** `null` where all that it would be of was skipped, and where a token has no score. */
  readonly score: number | null;
  /** Share of ordinary ones that score lower, in [0, 1]; `null` while too few are known to tell, and without a score. */
  readonly risk: number | null;
  /** Whether ordinary was found out beforehand (`flinch calibrate`), or is estimated from what has been seen so far. */
  readonly calibrated: boolean;
}

/** A step, and the part of the answer that it lies in: no step is of two. */
interface StepOfPart extends StepSpan {
  /** Absent for the text. */
  readonly part?: Part;
}

/** All tokens of a step are there; its scores may not be. */
export interface StepClosedEvent extends StepOfPart {
  readonly type: 'step.closed';
}

/** The verdict on a step. After {@link intervene} it is the last word: nothing of the step is retracted any more. */
export interface StepEvent extends StepOfPart, Rating {
  readonly type: 'step.done';
  readonly flagged: boolean;
  /** See {@link FlaggedEvent}. */
  readonly unscored?: number;
  /** How long the step was held back: until then, since its first token came. */
  readonly held?: { readonly tokens: number; readonly ms: number };
}

/** A step is likely wrong, and what is done about it. */
export interface FlaggedEvent extends StepOfPart, Rating {
  readonly type: 'step.flagged';
  /** Tokens that should have a score of `method` and have none: `missing`, or passed over (`lag`). Not there for none. */
  readonly unscored?: number;
  readonly action: ActionName;
}

export type ActionName = 'annotate' | 'stop' | 'rollback';

/** Tokens from `from` on are void; what follows counts from there again. */
export interface RetractedEvent {
  readonly type: 'token.retracted';
  readonly from: number;
  readonly tokens: number;
}

export interface RollbackStartedEvent {
  readonly type: 'rollback.started';
  /** Counts the rollbacks of the response from 0. */
  readonly rollback: number;
  readonly step: number;
  /** The first token that is drawn anew. */
  readonly from: number;
  readonly candidates: number;
}

/** One continuation that was considered in place of a flagged step; the flagged one itself is the first. */
export interface CandidateSummary {
  readonly text: string;
  readonly tokens: number;
  /** Mean over its tokens, which does not favour short ones. */
  readonly score: number | null;
}

export interface RollbackDoneEvent {
  readonly type: 'rollback.done';
  readonly rollback: number;
  readonly step: number;
  /** `kept`: the flagged step itself was chosen, or one with the same text. */
  readonly outcome: 'replaced' | 'kept';
  /** Index into `candidates`. */
  readonly chosen: number;
  readonly candidates: readonly CandidateSummary[];
}

/**
 * The scorer does not agree with the server that writes about how probable its tokens are: its weights are likely
 * others, and its scores say little. Comes once.
 */
export interface ScorerMismatchEvent {
  readonly type: 'scorer.mismatch';
  /** Number of tokens that were compared. */
  readonly tokens: number;
  /** Mean absolute difference of the log-probabilities, and the most that passes for rounding. In nats. */
  readonly difference: number;
  readonly tolerance: number;
}

/** Events of a guarded generation. */
export type GuardEvent =
  | GenerationEvent
  | EscalatedEvent
  | VotedEvent
  | ScorerMismatchEvent
  | StepEvent
  | FlaggedEvent
  | RetractedEvent
  | RollbackStartedEvent
  | RollbackDoneEvent;
