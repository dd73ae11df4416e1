import type { GuardRequest } from './guard-request.js';

/** Part of a message, as in OpenAI's API. The gateway passes on further fields of it. */
export interface MessagePart {
  readonly type: string;
  readonly text?: unknown;
  readonly image_url?: unknown;
  readonly input_audio?: unknown;
  readonly file?: unknown;
}

/** Message of a conversation, as in OpenAI's API. The gateway passes on further fields of it. */
export interface Message {
  readonly role: string;
  readonly content?: string | readonly MessagePart[] | null;
  readonly name?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: unknown;
}

/** Request for one answer (gateway/requests). The gateway passes on further fields of it to upstreams. */
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
  /** The same seed gives the same response (at most 2^53 − 1 for a model that flinch runs). */
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

  // For upstreams; a model that flinch runs ignores these.
  readonly user?: string | null;
  readonly metadata?: Record<string, string> | null;
  readonly store?: boolean | null;
  readonly service_tier?: string | null;
  readonly safety_identifier?: string | null;
  readonly prompt_cache_key?: string | null;
  readonly parallel_tool_calls?: boolean | null;

  // For upstreams; a model that flinch runs takes the neutral value alone, such as `n: 1`.
  readonly n?: unknown;
  readonly frequency_penalty?: unknown;
  readonly presence_penalty?: unknown;
  readonly logit_bias?: unknown;
  readonly tools?: unknown;
  readonly tool_choice?: unknown;
  readonly functions?: unknown;
  readonly function_call?: unknown;
  readonly response_format?: unknown;
  readonly modalities?: unknown;
  readonly audio?: unknown;
  readonly prediction?: unknown;
  readonly reasoning_effort?: unknown;
  readonly web_search_options?: unknown;
}
