import type { Context } from '@opentelemetry/api';
import type { Observable } from 'rxjs';
import type { Engine } from '../../src/engine/engine.js';
import type { Role } from '../../src/engine/engine-messages.js';
import type { CompleteGuardFields } from '../../src/guard/guard-fields.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import type { Vocabulary } from '../../src/stream/wire.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import type { ErrorCode } from '../errors/codes.js';
import type { Route } from '../policy/passed-routes.js';
import type { Prompt } from '../requests/completion-request.js';
import type { GenerationFields } from '../requests/generation-request.js';
import type { AskedGuard } from '../requests/guard-limits.js';
import type { ResponseRequest } from '../requests/response-request.js';
import type { GivenText } from './given-text.js';

/** The settings in force, as clients are told: relative sizes made absolute. */
export interface GuardInForce extends CompleteGuardFields {
  readonly scoring: CompleteGuardFields['scoring'] & { readonly alpha: number; readonly sigma: number };
  /** Whether flags go by a calibration of this model under these settings; not there without a guard. */
  readonly calibrated?: boolean;
  /**
   * Warnings, as text: methods without a calibration that holds, scores that cannot be computed, a rate that never
   * flags.
   */
  readonly warnings?: readonly string[];
  /** Name of the operator's policy for this request; `null` where there is none. */
  readonly policy?: string | null;
}

/** What an answer says of the guard: how it judges and acts, and what the client or a policy has set. */
export type SaidGuard = Pick<
  GuardInForce,
  'enabled' | 'methods' | 'method' | 'per' | 'rate' | 'delivery' | 'action'
> &
  Partial<Omit<GuardInForce, 'scoring'>> & { readonly scoring?: Partial<GuardInForce['scoring']> };

/** A generation that is ready to start. */
export interface Prepared {
  readonly model: string;
  /** Meaning of its token ids. */
  readonly vocabulary: Vocabulary;
  readonly guard: GuardInForce;
  /** Fields of the guard that the operator's policy has set. */
  readonly setByPolicy?: AskedGuard;
  /** `null` where only the upstream counts them: `generation.done` says. */
  readonly promptTokens: number | null;
  /** Whether each token is followed by its score at once, as scores by log-probabilities are. */
  readonly scoredAtOnce?: boolean;
  /** Whether its events are `upstream.delta` with whole chunks, and the end: nothing is scored. */
  readonly verbatim?: boolean;
  /** Starts it; unsubscribing cancels. Errors with an EngineError, or an ApiError for an upstream's fault. */
  readonly start: (gate: FlowGate) => Observable<GuardEvent>;
}

/** The part of a request that is not a field of a chat, and how the client gets the answer. */
export interface AskedAnswer {
  /** Prompt that is continued in place of `messages`, with no chat template around it. */
  readonly prompt?: Prompt;
  /** The request of which this one is the chat, as it came. */
  readonly response?: ResponseRequest;
  /** The answer, which is there already: it is scored, not written. */
  readonly given?: GivenText;
  /** Whether the client can be told that tokens are void; else they are held until they cannot be. */
  readonly canRetract: boolean;
  /** Whether chunks may be passed on as they came where nothing is to be scored. */
  readonly verbatim?: boolean;
  /** Whether the transport keeps all events to the end, such as of an answer that is not streamed. */
  readonly kept?: boolean;
  /** Whether the client gets it as a stream, for traces. */
  readonly stream?: boolean;
}

/** The client that asks, and the names of the answer elsewhere. */
export interface Asker {
  /** Client of the request ({@link Principal.client}): running estimates learn from its requests alone. */
  readonly client?: string;
  /** A further answer to one question, and so no ordinary one: running estimates and the guard's metrics leave it out. */
  readonly further?: boolean;
  /** Id of the response, for the metrics. */
  readonly responseId?: string;
  /** The trace that it belongs to. */
  readonly trace?: Context;
}

/** Bounds that the operator sets. */
export interface AnswerBounds {
  /** Maximum tokens of an answer to a request that does not say how many it wants. */
  readonly maxTokens?: number;
  /** Whether the response ends before its first token without a score. */
  readonly refusesUnscored?: boolean;
}

/** Called while the answer is written. */
export interface AnswerListeners {
  /** Called with each event of a guard as it is written, before steps are held back. */
  readonly written?: (event: GuardEvent) => void;
  /** Called for a refusal after the start, which the client gets as a failure; an earlier one is its answer. */
  readonly refused?: (code: ErrorCode) => void;
}

export interface PrepareOptions {
  readonly asked: AskedAnswer;
  readonly from?: Asker;
  readonly bounds?: AnswerBounds;
  readonly listeners?: AnswerListeners;
}

/** A model that the gateway serves under a name: a checkpoint of its own, or an upstream's. */
export interface ServedModel {
  readonly name: string;
  /**
   * @throws ApiError 400 for a prompt that does not fit or that the template refuses
   * @throws SettingsError for settings of the guard that do not fit together, or not to the model
   */
  prepare(request: GenerationFields, options: PrepareOptions): Promise<Prepared>;
  /** Forwards requests of listed routes that are not read here. */
  readonly forwards?: Forwards | undefined;
  /** The servers that run it, as `host:port`; never published. A server may be asked for another of its models. */
  readonly hosts?: readonly string[] | undefined;
  status(): ModelStatus;
  /** Engine or servers that metrics are read from. */
  readonly inside?: ModelInside | undefined;
  readonly about?: ModelAbout | undefined;
}

/** Information for clients before they ask: the field `flinch` of `/v1/models`. */
export interface ModelAbout {
  /** Whether it is the model that comes with flinch, which only knows puzzles. */
  readonly embedded: boolean;
  /** Whether its chat template leaves out what came before the last question. */
  readonly single_turn: boolean;
  /** Scores that can be computed; `null` until the capabilities of an upstream are known. */
  readonly methods: readonly Method[] | null;
  /** The one that judges where a request names none; `null` if there is none, or while they are unknown. */
  readonly method: Method | null;
  /** The largest `top_logprobs`; `null` until the capabilities of an upstream are known. */
  readonly top_logprobs: number | null;
}

/** A request that is not read here. */
export interface ForwardedRequest {
  /** Route as the operator lists it, not as the client wrote it. */
  readonly route: Route;
  /** Query string without its `?`. */
  readonly query: string;
  /** Headers of the client that describe the body and the expected answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** An object of JSON is written anew, with the model as the server names it. */
  readonly body: Uint8Array | Readonly<Record<string, unknown>>;
}

/** Whatever a server answers. */
export interface ForwardedAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  /** The next bytes of the body, `null` after the last. */
  read(): Promise<Uint8Array | null>;
  cancel(): void;
}

export interface Forwards {
  readonly routes: readonly Route[];
  /** Errors with an ApiError where no server answers. */
  readonly send: (request: ForwardedRequest, signal: AbortSignal) => Promise<ForwardedAnswer>;
}

/** Part of an engine that metrics watch. */
export interface WatchedEngine {
  readonly engine: Pick<Engine, 'status' | 'onPass'>;
  /** The processes in use. */
  readonly processes: readonly Role[];
}

/** Part of a model's servers that metrics watch. */
export interface WatchedUpstream {
  readonly up: () => boolean;
  /** Probes the servers whose state is unknown at the moment. */
  readonly look: () => void;
}

/** APIs by which models are asked: flinch itself, or servers that speak OpenAI's. */
export const PROVIDERS = ['flinch', 'openai'] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface ModelInside {
  readonly provider: Provider;
  readonly engine?: WatchedEngine;
  readonly upstream?: WatchedUpstream;
}

/** Status of a model in `/healthz`. */
export interface ModelStatus {
  /** Whether new generations can be taken on. */
  readonly ready: boolean;
  /** Why not, in words for users; absent if it is. */
  readonly problem?: string;
  readonly [detail: string]: unknown;
}
