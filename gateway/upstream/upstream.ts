import type { Context } from '@opentelemetry/api';
import type { PartOf } from '../../src/steps/text-part.js';
import type { FinishReason, TokenEvent, UpstreamEvent } from '../../src/stream/events.js';
import type { Prompt } from '../requests/completion-request.js';
import type { Message } from '../requests/message-fields.js';
import type { UpstreamError } from './upstream-error.js';

/** Capabilities of an upstream, which are probed and never guessed from a name. */
export interface Capabilities {
  /**
   * Whether it says which tokens of the vocabulary it writes. `return_token_ids`: vLLM's way, ids beside the text, and
   * those of the prompt. `return_tokens`: llama.cpp's, ids among the log-probabilities; of a character of several
   * tokens it describes the last alone.
   */
  readonly tokenIds: 'return_token_ids' | 'return_tokens' | 'none';
  /** Alternatives per token that it tells log-probabilities of; `null` where it tells none at all. */
  readonly logprobs: number | null;
  /** How it best goes on with a text that has begun; {@link ResumeWay} says what each needs. */
  readonly resume: ResumeWay | 'none';
}

/**
 * - `tokens`: the ids of prompt and text, exactly as they were.
 * - `continueFinalMessage`: the text alone, as the beginning of the last message; the server tokenises it anew.
 * - `prompt`: the prompt as text, by its chat template, which the caller must have.
 */
export type ResumeWay = 'tokens' | 'continueFinalMessage' | 'prompt';

/** A text to be written, or to be continued. */
export interface UpstreamRequest {
  readonly messages: readonly Message[];
  /** Prompt that is continued with no chat template around it, in place of `messages`. */
  readonly prompt?: Prompt;
  /** Whether it is one of `/v1/responses`, with its fields; a text is not continued there. */
  readonly isResponse?: boolean;
  /** The client's request as it came, without what the gateway has to say itself. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Those fields of it that have numbers with more digits than JavaScript keeps, with these. */
  readonly exact?: Readonly<Record<string, unknown>>;
  /** Whether nothing is added that only scores need. */
  readonly verbatim?: boolean;
  /** Whether the client wants it as one object, not in chunks: a stream is the gateway's own wish then. */
  readonly wholeWanted?: boolean;
  /** Why a stream was refused of it. */
  readonly unstreamed?: UpstreamError;
  /** Whether of the answer only fields that are known are passed on. */
  readonly knownOnly?: boolean;
  /** The trace that it belongs to, which the server is told. */
  readonly trace?: Context;
  readonly sampling: {
    readonly temperature?: number;
    readonly topP?: number;
    readonly topK?: number;
    readonly seed?: number;
  };
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  /** Most probable alternatives that are wanted of each token, from 0. */
  readonly topLogprobs: number;
  /** No log-probabilities are asked for: the server refuses them for this request. */
  readonly withoutLogprobs?: true;
  /** Beginning of the answer: the server continues it. Needs `resume` other than `none`. */
  readonly prefix?: {
    readonly text: string;
    readonly promptIds: readonly number[] | null;
    readonly ids: readonly number[] | null;
    /** The prompt as its chat template renders it, up to where the answer begins. */
    readonly prompt?: string;
    /** Whether no chat template surrounds it. */
    readonly raw?: boolean;
  };
}

/** A token as the server describes it: what a `token.delta` says of it, and its bytes. */
export interface UpstreamToken
  extends Pick<TokenEvent, 'id' | 'text' | 'name' | 'logprob' | 'topLogprobs' | keyof PartOf> {
  /** Bytes of a part of a character, which has no text of its own. */
  readonly bytes?: readonly number[];
}

/** A token of the scorer's vocabulary. The texts of all that are of no other part, joined, are the server's text. */
export interface KnownToken extends UpstreamToken {
  readonly id: number;
}

/** A part of the answer, as one event of the server brings it. */
export interface UpstreamPiece {
  /** Text of the answer: none for tokens of another part. Never ends within a character. */
  readonly text: string;
  /**
   * Tokens whose texts together are `text`, but for those of another part; `null` if the server does not tell
   * them apart.
   */
  readonly tokens: readonly UpstreamToken[] | null;
  /**
   * Ids, if the server does not report the text of each, or if the texts did not fit. They may run ahead of
   * the text, and end with the token that ends the answer.
   */
  readonly ids: readonly number[] | null;
  /**
   * Text that the tokens spell, if it is not `text`: it includes tokens of another part, and marks that the
   * server does not show.
   */
  readonly spelt?: string;
  /** Whether the model has written tokens here that the server does not tell. */
  readonly hidden?: true;
  readonly beside?: Omit<UpstreamEvent, 'type' | 'at'>;
}

/** An answer under way: its first byte has come. */
export interface UpstreamResponse {
  readonly promptIds: readonly number[] | null;
  /**
   * The pieces that have come since, at least one; `null` when the server has said why it stops.
   * @throws UpstreamError
   */
  readonly read: () => Promise<readonly UpstreamPiece[] | null>;
  /** Call this once all was read. */
  readonly end: () => UpstreamEnd;
  /** Breaks off; the server is told by closing the connection. */
  readonly cancel: () => void;
}

export interface UpstreamEnd {
  readonly finishReason: FinishReason;
  /** Counts by the server; `null` for what it does not say. */
  readonly usage: { readonly promptTokens: number | null; readonly completionTokens: number | null } | null;
}
