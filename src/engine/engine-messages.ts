import type { Conversion } from '../checkpoint/conversion.js';
import type { ModelSource } from '../graphs/decoder.js';
import type { TokenStatistics } from '../numerics/token-statistics.js';
import type { TokurSettings } from '../numerics/tokur-noise.js';
import type { Backend } from './device.js';
import type { Sampling, TokenLogprob } from './sampler.js';
import type { ScoreServers, ServerStatus } from './server/score-servers.js';

/** Messages between the parent and an engine process. Logits never cross. */

export type Role = 'decode' | 'score';

export interface OpenMessage {
  readonly type: 'open';
  readonly role: Role;
  readonly source: ModelSource;
  /**
   * Products of integers; `null`: all are of fp32. Weights that are to be written with and are none are read from the folder
   * `written`, or rounded into it, if there is one; rounded ones for derivatives from `rounded`.
   */
  readonly integers: { readonly written: string | null; readonly rounded: string } | null;
  readonly threads: number;
  readonly device: Backend;
  /** See `Sessions`; by default what is quickest on the device. */
  readonly together?: 'batched';
  /** The most positions that one sequence may have. */
  readonly contextLength: number;
  /** Memory for keys and values of earlier texts. */
  readonly prefixCacheBytes: number;
  /** Whether the process runs at the lowest priority: what writes on the same cores goes first. */
  readonly givesWay: boolean;
  /** Inference servers that run the graphs of the score process, if it does not run them itself. */
  readonly servers: ScoreServers | null;
}

/**
 * Client of the work: no client waits for all work of another. Texts of one client may begin with keys and
 * values that were read for another text of it; without a client nothing is kept.
 */
interface OfClient {
  readonly client?: string;
}

export interface GenerateMessage extends OfClient {
  readonly type: 'generate';
  readonly stream: number;
  /** Tokens that the model has not seen yet, at least one. */
  readonly promptIds: readonly number[];
  /** Positions that are copied: the first `length` of another stream. */
  readonly past?: { readonly stream: number; readonly length: number };
  /** Whether the stream can be continued by others after its end, until it is cancelled. */
  readonly retain?: boolean;
  readonly sampling: Sampling;
  readonly maxTokens: number;
  /** Tokens that end the response; the one that does is not part of it. */
  readonly endIds: readonly number[];
  readonly topLogprobs: number;
  readonly statistics?: boolean;
  /** Tokens that may be sent before more credit arrives. */
  readonly credit: number;
}

/** Asks for a `pong`, between two runs: whether the process goes on. */
export interface PingMessage {
  readonly type: 'ping';
}

export type ToDecode =
  | OpenMessage
  | PingMessage
  | GenerateMessage
  | { readonly type: 'credit'; readonly stream: number; readonly tokens: number }
  | { readonly type: 'cancel'; readonly stream: number };

/**
 * Messages of both processes: the model was opened, or could not be; replies to a ping; changes of inference
 * servers.
 */
type OfProcess =
  | { readonly type: 'pong' }
  /** Carries the device on which all sessions opened. */
  | { readonly type: 'ready'; readonly device: Backend }
  | { readonly type: 'unavailable'; readonly message: string }
  /** Weights are converted before the model is opened. */
  | { readonly type: 'converting'; readonly progress: Conversion }
  /** The process goes on without one of the servers that it uses. */
  | { readonly type: 'server_lost'; readonly message: string }
  /** State of the inference servers, after a change. */
  | { readonly type: 'servers'; readonly servers: readonly ServerStatus[] };

/** A token that was drawn, or given to the model. */
export interface SampledToken {
  readonly type: 'token';
  readonly stream: number;
  readonly id: number;
  /** Natural log, temperature 1. */
  readonly logprob: number;
  /** Most probable first. */
  readonly top: readonly TokenLogprob[];
  readonly statistics?: TokenStatistics;
}

export type FromDecode =
  | OfProcess
  /**
   * Sent before the first token, with the number of prompt tokens that were read for an earlier text of the
   * client.
   */
  | { readonly type: 'begun'; readonly stream: number; readonly cachedTokens: number }
  | SampledToken
  | { readonly type: 'end'; readonly stream: number; readonly reason: 'stop' | 'length' }
  | { readonly type: 'failed'; readonly stream: number; readonly message: string };

/** Asks to read a text ahead of its first pass, and for a `read` once that is done. */
export interface ReadMessage extends OfClient {
  readonly type: 'read';
  readonly stream: number;
  readonly newIds: readonly number[];
  /** Positions that are read. */
  readonly end: number;
  /**
   * Whether probabilities of tokens are asked for (the default), or derivatives alone, whose products may be rounded. It is
   * the same in all messages of a sequence: its keys and values are rounded, or they are not.
   */
  readonly probabilities?: boolean;
}

/** One score pass over positions `start` to `to − 2`, which scores tokens `from` to `to − 1`. */
export interface PassMessage extends OfClient {
  readonly type: 'pass';
  readonly stream: number;
  /** Tokens that the sequence has gained since the last message; the first brings the prompt. */
  readonly newIds: readonly number[];
  /** The first position of the window, which ends before the last token. */
  readonly start: number;
  readonly from: number;
  readonly to: number;
  /** `null` for a plain forward pass. */
  readonly adversary: Adversary | null;
  /** Log-probabilities of these tokens, if all are known: none are asked for then ({@link ReadMessage.probabilities}). */
  readonly logprobs?: readonly number[];
  /** How many of the most probable tokens are wanted; 5 by default. */
  readonly top?: number;
}

export interface Adversary {
  readonly alpha: number;
  /** A second forward pass, or the derivative along the step: what is to first order the same, without rounding. */
  readonly form: 'perturb' | 'derivative';
  /** Whether each of the tokens is attacked; by default all are. */
  readonly attacked?: readonly boolean[];
}

/** Copies of a sequence that run perturbed: their embeddings, or for TokUR the weights of the model. */
export type ReplicaOptions = NoiseOptions | ({ readonly kind: 'tokur' } & TokurSettings);

export interface NoiseOptions {
  readonly kind: 'noise';
  readonly samples: number;
  /** σ of the noise on every entry of every embedding. */
  readonly sigma: number;
  readonly seed: number;
}

/** Asks the replicas of a sequence to score tokens `from` to `to − 1`. */
export interface SampleMessage extends OfClient {
  readonly type: 'sample';
  readonly stream: number;
  readonly kind: ReplicaOptions['kind'];
  /** See {@link PassMessage}. */
  readonly newIds: readonly number[];
  readonly from: number;
  readonly to: number;
}

export interface ForkMessage extends OfClient {
  readonly type: 'fork';
  readonly stream: number;
  readonly of: number;
  readonly length: number;
}

export type ToScore =
  | OpenMessage
  | PingMessage
  | ReadMessage
  | PassMessage
  | SampleMessage
  /** A sequence that begins as the first `length` tokens of another one. */
  | ForkMessage
  /** Settings of a sequence's samples; sent before the first of them. */
  | { readonly type: 'replicas'; readonly stream: number; readonly options: ReplicaOptions }
  /** The sequence is done with: its cache is freed. */
  | { readonly type: 'release'; readonly stream: number };

export interface Rival {
  readonly id: number;
  /** Its probability before and after the perturbation. */
  readonly before: number;
  readonly after: number;
}

/** What a model says of a token that is there: natural log, temperature 1. */
export interface TokenProbability extends TokenStatistics {
  readonly logprob: number;
  readonly top: readonly TokenLogprob[];
}

/** Results of a pass for one token. */
export interface PassToken {
  /** `null` where it was not asked for. */
  readonly probability: TokenProbability | null;
  /** How far its log-probability falls, and to whom. */
  readonly adversary: { readonly fall: number; readonly rival: Rival } | null;
}

export type FromScore =
  | OfProcess
  | {
      readonly type: 'scored';
      readonly stream: number;
      readonly tokens: readonly PassToken[];
      readonly positions: number;
    }
  | { readonly type: 'read'; readonly stream: number }
  | { readonly type: 'forked'; readonly stream: number }
  /**
   * Values per token: log P(token) of each replica; of TokUR EU, TU and AU.
   */
  | { readonly type: 'sampled'; readonly stream: number; readonly values: readonly (readonly number[])[] }
  | { readonly type: 'failed'; readonly stream: number; readonly message: string };
