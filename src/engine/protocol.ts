import type { ModelSource } from '../model/decoder.js';
import type { Device } from './device.js';
import type { Sampling, TokenLogprob } from './sampler.js';

/** Messages between the parent and an engine process. Logits never cross. */

export type Role = 'decode' | 'score';

export interface OpenMessage {
  readonly type: 'open';
  readonly role: Role;
  readonly source: ModelSource;
  readonly threads: number;
  readonly device: Device;
  /** The most positions that one text may have. */
  readonly contextLength: number;
}

export interface GenerateMessage {
  readonly type: 'generate';
  readonly stream: number;
  readonly promptIds: readonly number[];
  readonly sampling: Sampling;
  readonly maxTokens: number;
  /** Tokens that end the response; the one that does is not part of it. */
  readonly endIds: readonly number[];
  readonly topLogprobs: number;
  /** Tokens that may be sent before more credit arrives. */
  readonly credit: number;
}

export type ToDecode =
  | OpenMessage
  | GenerateMessage
  | { readonly type: 'credit'; readonly stream: number; readonly tokens: number }
  | { readonly type: 'cancel'; readonly stream: number };

/** What both kinds say when they have opened their model, or could not. */
type Opened =
  /** With the device on which all sessions opened. */
  | { readonly type: 'ready'; readonly device: Device }
  | { readonly type: 'unavailable'; readonly message: string };

export type FromDecode =
  | Opened
  | {
      readonly type: 'token';
      readonly stream: number;
      readonly id: number;
      readonly logprob: number;
      readonly top: readonly TokenLogprob[];
    }
  | { readonly type: 'end'; readonly stream: number; readonly reason: 'stop' | 'length' }
  | { readonly type: 'failed'; readonly stream: number; readonly message: string };

/** One score pass over positions `start` to `to − 2`, which scores tokens `from` to `to − 1`. */
export interface PassMessage {
  readonly type: 'pass';
  readonly stream: number;
  /** Tokens that the text has gained since the last pass; the first pass brings the prompt. */
  readonly newIds: readonly number[];
  readonly start: number;
  readonly from: number;
  readonly to: number;
  /** α of the adversary, or `null` for a plain forward pass. */
  readonly alpha: number | null;
}

export type ToScore =
  | OpenMessage
  | PassMessage
  /** The text is done with: its cache is freed. */
  | { readonly type: 'release'; readonly stream: number };

export interface Rival {
  readonly id: number;
  /** Its probability before and after the perturbation. */
  readonly before: number;
  readonly after: number;
}

/** What a pass says of one token: natural log, temperature 1. */
export interface PassToken {
  readonly logprob: number;
  readonly entropy: number;
  readonly margin: number;
  readonly top: readonly TokenLogprob[];
  readonly adversary: { readonly perturbedLogprob: number; readonly rival: Rival } | null;
}

export type FromScore =
  | Opened
  | {
      readonly type: 'scored';
      readonly stream: number;
      readonly tokens: readonly PassToken[];
      readonly positions: number;
    }
  | { readonly type: 'failed'; readonly stream: number; readonly message: string };
