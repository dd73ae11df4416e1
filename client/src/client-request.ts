// Written by `npm run schemas` from gateway/requests; changes are made there.

import type { GuardRequest } from './guard-request.js';

/** Part of a message. The gateway passes on further fields of it. */
export interface MessagePart {
  readonly type: string;
  /** As in OpenAI's API; an upstream judges it. */
  readonly text?: unknown;
  /** As in OpenAI's API; an upstream judges it. */
  readonly image_url?: unknown;
  /** As in OpenAI's API; an upstream judges it. */
  readonly input_audio?: unknown;
  /** As in OpenAI's API; an upstream judges it. */
  readonly file?: unknown;
}

/** Message of a conversation. The gateway passes on further fields of it. */
export interface Message {
  readonly role: string;
  readonly content?: string | readonly MessagePart[] | null;
  /** As in OpenAI's API; an upstream judges it. */
  readonly name?: unknown;
  /** As in OpenAI's API; an upstream judges it. */
  readonly tool_calls?: unknown;
  /** As in OpenAI's API; an upstream judges it. */
  readonly tool_call_id?: unknown;
}

/** Request for one answer. The gateway passes on further fields of it to upstreams. */
export interface GenerationRequest {
  /** Name of a model in the configuration. */
  readonly model: string;
  /** Sampling temperature; 0 is greedy (default: that of the model). */
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  /** How tokens are scored, and what happens to doubtful steps. */
  readonly guard?: GuardRequest | null;
  /** Number of most probable tokens to sample from; 0 means all. */
  readonly top_k?: number | null;
  /** The same seed gives the same response. Rounding may change it on another machine, and rarely beside other requests. At most 2^53 − 1 for a model that flinch runs. */
  readonly seed?: number | null;
  /** Lower a `max_completion_tokens` or `top_logprobs` that is too large for the model instead of refusing it; `guard.warnings` says so (default: false). */
  readonly clamp?: boolean | null;
  /** Texts that end the response (at most 4 of up to 256 characters for a model that flinch runs). */
  readonly stop?: string | readonly string[] | null;
  readonly messages: readonly Message[];
  /** Older name of `max_completion_tokens`. */
  readonly max_tokens?: number | null;
  /** Maximum length of the response, in tokens. Below 0: no maximum, for servers that take that. */
  readonly max_completion_tokens?: number | null;
  /** Number of most probable alternatives reported for each token (at most 20 of a model that flinch runs). */
  readonly top_logprobs?: number | null;
  /** Whether the generation outlives its connection. */
  readonly resumable?: boolean | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly user?: string | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly metadata?: Record<string, string> | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly store?: boolean | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly service_tier?: string | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly safety_identifier?: string | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly prompt_cache_key?: string | null;
  /** For upstreams; a model that flinch runs ignores it. */
  readonly parallel_tool_calls?: boolean | null;
  /** For upstreams; a model that flinch runs takes `null` or `1` alone. */
  readonly n?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `0` alone. */
  readonly frequency_penalty?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `0` alone. */
  readonly presence_penalty?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `{}` alone. */
  readonly logit_bias?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `[]` alone. */
  readonly tools?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `"none"` or `"auto"` alone. */
  readonly tool_choice?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `[]` alone. */
  readonly functions?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `"none"` or `"auto"` alone. */
  readonly function_call?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `{"type":"text"}` alone. */
  readonly response_format?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `["text"]` alone. */
  readonly modalities?: unknown;
  /** For upstreams; a model that flinch runs takes `null` alone. */
  readonly audio?: unknown;
  /** For upstreams; a model that flinch runs takes `null` alone. */
  readonly prediction?: unknown;
  /** For upstreams; a model that flinch runs takes `null` or `"none"` alone. */
  readonly reasoning_effort?: unknown;
  /** For upstreams; a model that flinch runs takes `null` alone. */
  readonly web_search_options?: unknown;
}
