interface ErrorKind {
  /** HTTP status of a request that is refused with it. Below 500, the request is at fault. */
  readonly status: number;
  readonly meaning: string;
}

/** Every `code` that an error of the gateway has, as docs/reference/errors.md lists them. */
export const ERRORS = {
  answer_too_large: {
    status: 400,
    meaning:
      'The answers that are kept until they end exceed `limits.kept_bytes`, and this one is the largest. Ask for fewer tokens, or stream it.',
  },
  body_too_large: { status: 413, meaning: 'The body is larger than `limits.body_bytes`.' },
  context_length_exceeded: {
    status: 400,
    meaning: "The prompt, or the prompt plus the requested tokens, exceeds the model's context length.",
  },
  engine_crashed: {
    status: 500,
    meaning: 'The engine process died during this computation. A new request may succeed.',
  },
  engine_failed: {
    status: 500,
    meaning:
      'The computation failed, for example because of values that are not finite. A new request may succeed.',
  },
  engine_stalled: {
    status: 500,
    meaning: 'The engine process made no progress for 60 s and was killed. A new request may succeed.',
  },
  engine_unavailable: {
    status: 503,
    meaning: 'The engine process is not running or is restarting. Try again later.',
  },
  headers_too_large: { status: 431, meaning: 'The headers, including the request target, exceed 16 KiB.' },
  host_not_allowed: {
    status: 421,
    meaning: '`Host` is not an allowed name of this gateway; see `access.hosts`.',
  },
  insufficient_memory: {
    status: 503,
    meaning:
      'The request is predicted to need more memory than is left. Try again later, or with fewer tokens.',
  },
  internal_error: { status: 500, meaning: 'A fault in the gateway; see its log.' },
  invalid_api_key: { status: 401, meaning: 'The API key is not known.' },
  invalid_http: {
    status: 400,
    meaning:
      'The request is not valid HTTP/1.0 or HTTP/1.1, contradicts itself, or is an invalid WebSocket handshake.',
  },
  invalid_json: {
    status: 400,
    meaning:
      'The body is not JSON in UTF-8, lacks `Content-Type: application/json`, or has too many levels, fields, lists or objects.',
  },
  invalid_message: {
    status: 400,
    meaning: 'The WebSocket message is not an object, or its `type` is unknown.',
  },
  invalid_request: {
    status: 400,
    meaning:
      'The encoding of the request path is invalid. 412, 416: a file of the page does not fit the condition or the range.',
  },
  invalid_ticket: { status: 401, meaning: 'The ticket was already used, has expired, or is unknown.' },
  invalid_value: {
    status: 400,
    meaning: 'A field has the wrong type or is out of range. 426: the WebSocket version is not 13.',
  },
  key_not_allowed: { status: 403, meaning: 'The key lacks this permission; see `metrics` and `generate`.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method.' },
  missing_api_key: { status: 401, meaning: 'The gateway requires an API key.' },
  model_error: { status: 500, meaning: "The model's files are faulty." },
  model_not_found: { status: 404, meaning: 'No model with this name is served.' },
  not_found: { status: 404, meaning: 'There is nothing at this path.' },
  not_judged: {
    status: 503,
    meaning:
      'The text is scored, but there is no verdict on it, for example because too few ordinary answers are known. Calibrate the model.',
  },
  not_recovered: {
    status: 410,
    meaning: 'The stream cannot be resumed: its events are no longer kept, or it is unknown.',
  },
  origin_not_allowed: {
    status: 403,
    meaning: 'The origin of the page is not allowed; see `access.origins`.',
  },
  overloaded: { status: 503, meaning: 'No further stream is admitted. Try again later.' },
  owner_lost: {
    status: 500,
    meaning:
      'The gateway, or the worker, that wrote a resumed response is gone. All that it wrote was sent. Send the request again.',
  },
  policy_violation: {
    status: 403,
    meaning:
      "The request sets a field of the guard that the operator's policy locks, or a value beyond its bounds; `param` is the field, `message` names the policy.",
  },
  prompt_too_long: {
    status: 400,
    meaning: '`messages`, or a text that is to be scored, exceed `limits.prompt_characters`.',
  },
  rate_limited: { status: 429, meaning: 'The rate limit of the key is exceeded; see `Retry-After`.' },
  request_timeout: { status: 408, meaning: 'The request took too long to arrive.' },
  scorer_mismatch: {
    status: 502,
    meaning:
      "The scorer cannot score the upstream's output: the vocabularies differ, or the upstream separates reasoning from the text.",
  },
  shutting_down: {
    status: 503,
    meaning: 'The gateway is shutting down; the request was refused or aborted.',
  },
  state_unavailable: {
    status: 503,
    meaning:
      'The Redis that gateways share cannot be used, and without it there are no tickets, or no limits (`state.failure_mode: closed`). Try again later.',
  },
  taken_over: { status: 409, meaning: 'Another connection has resumed the generation.' },
  too_many_connections: { status: 429, meaning: 'Too many open WebSockets for the key or the address.' },
  too_many_generations: {
    status: 429,
    meaning: 'Too many concurrent generations for the key or the connection.',
  },
  unknown_parameter: { status: 400, meaning: 'Unknown field; `param` names it.' },
  unknown_response: {
    status: 404,
    meaning:
      '`generation.cancel` or `generation.append` names a generation that is not running on this connection.',
  },
  unscored: {
    status: 403,
    meaning:
      "The response has text that nothing scores, or the server cannot be scored at all, and the operator's policy refuses it (`unscored`).",
  },
  unsupported_encoding: {
    status: 415,
    meaning: 'The body is compressed, or its charset is not UTF-8.',
  },
  unsupported_parameter: { status: 400, meaning: 'An OpenAI field that flinch does not support.' },
  upstream_error: { status: 502, meaning: "The upstream's answer is invalid or incomplete." },
  upstream_not_found: {
    status: 502,
    meaning: 'The upstream does not know the model or the path. The configuration is wrong.',
  },
  upstream_overloaded: { status: 503, meaning: 'The upstream is overloaded; see `Retry-After`.' },
  upstream_refused: {
    status: 400,
    meaning: 'The upstream refused the request; `message` quotes its error, shortened.',
  },
  upstream_timeout: { status: 504, meaning: 'The upstream did not answer, or stalled.' },
  upstream_unauthorized: {
    status: 502,
    meaning: "The upstream did not accept the gateway's key. The configuration is wrong.",
  },
  upstream_unreachable: { status: 502, meaning: 'The upstream cannot be reached.' },
} satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof ERRORS;

/** Metrics count by them, and by nothing that a client can choose. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** Faults that an operator should look into. Others are the client's, the upstream's (logged separately), or pass. */
export const OWN_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'engine_crashed',
  'engine_failed',
  'engine_stalled',
  'engine_unavailable',
  'internal_error',
  'model_error',
]);
