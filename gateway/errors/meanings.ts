import type { ErrorCode } from './codes.js';

interface Meaning {
  /** Of a request that is refused with it; errors of a WebSocket have none. */
  readonly status: string;
  readonly meaning: string;
}

/** What docs/reference/errors.md says of each code. */
export const ERROR_MEANINGS: Readonly<Record<ErrorCode, Meaning>> = {
  body_too_large: { status: '413', meaning: 'The body is longer than `limits.body_bytes`.' },
  context_length_exceeded: {
    status: '400',
    meaning: "The prompt, or the prompt and what is asked for, does not fit into the model's context.",
  },
  engine_crashed: {
    status: '500',
    meaning: 'The process that computes was lost, and with it this computation; a new request may succeed.',
  },
  engine_failed: {
    status: '500',
    meaning: 'The computation failed, its numbers were not finite for one; a new request may succeed.',
  },
  engine_unavailable: {
    status: '503',
    meaning: 'The process that computes is not there, or is being started again; try later.',
  },
  headers_too_large: { status: '431', meaning: 'More than 16 KiB of headers, the address among them.' },
  host_not_allowed: {
    status: '421',
    meaning: '`Host` is no name of this gateway: see `access.hosts`.',
  },
  insufficient_memory: {
    status: '503',
    meaning: 'The text is predicted to need more memory than is left; try later, or a shorter one.',
  },
  internal_error: { status: '500', meaning: 'The gateway is at fault; its log says more.' },
  invalid_api_key: { status: '401', meaning: 'Not a key of this gateway.' },
  invalid_http: {
    status: '400',
    meaning: 'What came is not HTTP/1.1, contradicts itself, or is no good WebSocket handshake.',
  },
  invalid_json: {
    status: '400',
    meaning: 'Not JSON in UTF-8, or without `Content-Type: application/json`.',
  },
  invalid_message: { status: '', meaning: 'A WebSocket message that is no object, or of no known `type`.' },
  invalid_request: { status: '400', meaning: 'An address whose encoding cannot be read.' },
  invalid_ticket: { status: '401', meaning: 'The ticket was used, is too old, or is none of this gateway.' },
  invalid_value: {
    status: '400',
    meaning: 'A field is of the wrong type or out of range; 426 for a WebSocket of another version than 13.',
  },
  key_not_allowed: { status: '403', meaning: 'The key may not do this: see `metrics` and `generate`.' },
  method_not_allowed: { status: '405', meaning: 'Another method than the address has.' },
  missing_api_key: { status: '401', meaning: 'The gateway asks for a key.' },
  model_error: { status: '500', meaning: "The model's own files are at fault." },
  model_not_found: { status: '404', meaning: 'No model of that name is served.' },
  not_found: { status: '404', meaning: 'There is nothing at this address.' },
  not_recovered: {
    status: '410',
    meaning: 'A stream cannot be continued: its events are gone, or it is unknown.',
  },
  origin_not_allowed: { status: '403', meaning: 'A page of another site: see `access.origins`.' },
  overloaded: { status: '503', meaning: 'No further stream, or ticket, is admitted; try later.' },
  prompt_too_long: {
    status: '400',
    meaning: '`messages` have more characters than `limits.prompt_characters`.',
  },
  rate_limited: { status: '429', meaning: 'More requests than the key may make: see `Retry-After`.' },
  request_timeout: { status: '408', meaning: 'The request took too long to arrive.' },
  scorer_mismatch: {
    status: '502',
    meaning:
      'The scorer cannot score what the upstream writes: another vocabulary, or reasoning that it keeps out of the text.',
  },
  shutting_down: { status: '503', meaning: 'The gateway is to end: refused, or ended before it was done.' },
  taken_over: { status: '', meaning: 'Another connection has resumed the generation.' },
  too_many_generations: {
    status: '429',
    meaning: 'More at once than the key, or a connection, may have.',
  },
  unknown_parameter: { status: '400', meaning: 'A field that nobody knows; `param` names it.' },
  unknown_response: {
    status: '',
    meaning: '`generation.cancel` for what is not under way on this connection.',
  },
  unsupported_encoding: {
    status: '415',
    meaning: 'A body that is compressed, or in another charset than UTF-8.',
  },
  unsupported_parameter: { status: '400', meaning: "A field of OpenAI's that flinch does not do." },
  upstream_error: { status: '502', meaning: 'What the upstream sent is no answer, or ended in its midst.' },
  upstream_not_found: {
    status: '502',
    meaning: 'The upstream has no such model or address: the configuration is at fault.',
  },
  upstream_overloaded: { status: '503', meaning: 'The upstream has too much to do; see `Retry-After`.' },
  upstream_refused: {
    status: '400',
    meaning: 'The upstream refused the request; `message` has its words, shortened.',
  },
  upstream_timeout: { status: '504', meaning: 'The upstream did not answer, or go on, in time.' },
  upstream_unauthorized: {
    status: '502',
    meaning: "The upstream did not take the gateway's key: the configuration is at fault.",
  },
  upstream_unreachable: { status: '502', meaning: 'The upstream is not there.' },
};
