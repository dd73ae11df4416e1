import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Engine } from '../../src/engine/engine.js';
import type { Role } from '../../src/engine/engine-messages.js';
import type { Branch } from '../../src/guard/branch.js';
import type { Guard } from '../../src/guard/guard.js';
import type { CompleteGuardFields, GuardFields } from '../../src/guard/guard-fields.js';
import type { Judging } from '../../src/guard/guarded-branch.js';
import type { RiskModel } from '../../src/risk/risk.js';
import type { GuardEvent } from '../../src/stream/events.js';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import type { Vocabulary } from '../../src/stream/wire.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import type { AbsoluteScoring } from '../../src/uncertainty/settings.js';
import type { Route } from '../policy/passed-routes.js';
import type { GivenText } from '../requests/given-text.js';
import type { AskedGuard } from '../requests/guard-limits.js';
import type { Asked } from './asked.js';
import type { Slots } from './slots.js';

/** The settings in force, as clients are told: relative sizes made absolute. */
export interface GuardInForce extends CompleteGuardFields {
  readonly scoring: CompleteGuardFields['scoring'] & { readonly alpha: number; readonly sigma: number };
  /** Whether flags go by a calibration of this model under these settings; not there without a guard. */
  readonly calibrated?: boolean;
  /** Without a calibration: answers that were seen so far, and how many a rank of an answer takes. */
  readonly estimate?: { readonly answers: number; readonly needed: number };
  /**
   * Warnings, as text: methods without a calibration that holds, scores that cannot be computed, a rate that never
   * flags.
   */
  readonly warnings?: readonly string[];
  /** Name of the operator's policy for this request; `null` where there is none. */
  readonly policy?: string | null;
}

/** How an answer is scored and judged. */
export interface Guarding {
  readonly scoring: AbsoluteScoring;
  readonly guard: Guard;
  /** Distribution of ordinary scores. */
  readonly risks: RiskModel;
}

/** What can be computed of an answer, and what its scores are compared with. */
export interface Judge {
  /**
   * The guard as it can be here: methods filled in, sizes absolute. It may be off, with a warning that says why.
   * @throws ApiError 400 that names the field; SettingsError
   */
  settle(
    fields: GuardFields,
  ): Promise<{ readonly settings: GuardInForce; readonly scoring: AbsoluteScoring }>;
  /** The scores of ordinary answers, for one answer; with warnings, as text. */
  rate(
    scoring: AbsoluteScoring,
    asked: Pick<Asked, 'client' | 'further'>,
  ): Promise<{ readonly risks: RiskModel; readonly warnings: readonly string[] }>;
  /** Logs a warning, once. */
  warn?(warning: string): void;
}

/** A request as a model has understood it. It knows no metric and no guard, and of the operator two bounds in `asked`. */
export interface Source {
  readonly judge: Judge;
  /** Of a request without `lag`, if no step waits for its verdict. */
  readonly lag?: Guard['lag'];
  /** Whether every token gets a score, unless scoring may fall behind. */
  readonly scoresAll?: boolean;
  /**
   * Makes the answer ready to be written.
   * @param guarding `null` if nothing is scored
   * @throws ApiError 400 for a prompt that does not fit or that the template refuses; UnscoredError
   */
  prepare(guarding: Guarding | null): Promise<Prepared>;
}

/** A text that is ready to be written. */
export interface Prepared {
  /** Meaning of its token ids. */
  readonly vocabulary: Vocabulary;
  /** `null` where only the upstream counts them: `generation.done` says. */
  readonly promptTokens: number | null;
  readonly form?: AnswerForm;
  /** Warnings, as text. */
  readonly warnings: readonly string[];
  /** Other continuations are drawn by seeds that follow from it. */
  readonly seed: number;
  /**
   * Begins to write. Called once.
   * @param signal aborted when the answer is over
   * @throws EngineError; ApiError for an upstream's fault
   */
  open(judging: Judging, signal: AbortSignal): Promise<Branch>;
  /** Changes the events on their way to the client. */
  readonly told?: MonoTypeOperatorFunction<GuardEvent>;
  /** Whether a continuation that fails with this error is done without. */
  readonly dispensable?: (error: unknown) => boolean;
}

/**
 * How an answer comes: as `tokens`; as tokens each of which is followed by its score at once (`scored`); or as
 * `upstream.delta` with whole chunks, unscored (`chunks`).
 */
export type AnswerForm = 'tokens' | 'scored' | 'chunks';

/** What is known of an answer before it starts. */
export interface AnswerAbout {
  readonly model: string;
  /** Meaning of its token ids. */
  readonly vocabulary: Vocabulary;
  readonly guard: GuardInForce;
  /** Fields of the guard that the client or the operator's policy has set. */
  readonly set: AskedGuard;
  /** `null` where only the upstream counts them: `generation.done` says. */
  readonly promptTokens: number | null;
  readonly form: AnswerForm;
}

/** An answer that is ready to start. */
export interface Answer extends AnswerAbout {
  /** Starts it, once; unsubscribing cancels. Errors with an EngineError, or an ApiError for an upstream's fault. */
  readonly start: (gate: FlowGate) => Observable<GuardEvent>;
}

/** A model that the gateway serves under a name: a checkpoint of its own, or an upstream's. */
export interface ServedModel {
  readonly name: string;
  /** Places for its answers; without, as many are written as come. */
  readonly slots?: Slots;
  /** @throws ApiError 400 for what it cannot be asked */
  source(asked: Asked): Promise<Source>;
  /**
   * Source of an answer that the client gives: it is scored, not written. Not there without a scorer.
   */
  readonly given?: ((text: GivenText, asked: Asked) => Promise<Source>) | undefined;
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
