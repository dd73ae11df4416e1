import fc from 'fast-check';

/** A request as bytes, or a message on a WebSocket. */
export type HostileRequest =
  | { readonly kind: 'http'; readonly head: string; readonly body: Buffer }
  | { readonly kind: 'message'; readonly fields: Readonly<Record<string, unknown>> };

/** Fields in the documentation of OpenAI, vLLM, llama.cpp, Ollama and OpenRouter, with values that change something. */
const FIELDS: Readonly<Record<string, readonly unknown[]>> = {
  n: [1, 2, '2', 2.0, null, [2]],
  best_of: [2],
  use_beam_search: [true, 1],
  echo: [true, 1, 'true', false],
  suffix: ['x'],
  logprobs: [true, false, 0, 2, null],
  top_logprobs: [0, 5],
  prompt_logprobs: [1],
  return_token_ids: [true, false],
  return_tokens_as_token_ids: [true],
  post_sampling_probs: [true],
  n_probs: [0, 5],
  logprobs_mode: ['processed_logprobs'],
  hide_logprobs: [true],
  logit_bias: [{}, { 17: 100 }],
  stream_options: [{ include_usage: true }, { include_usage: false, hide: true }],
  tools: [
    [],
    [{ type: 'function', function: { name: 'f', parameters: {} } }],
    [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
  ],
  tool_choice: ['required', 'none'],
  parallel_tool_calls: [true, false],
  functions: [[{ name: 'f', parameters: {} }]],
  modalities: [['text'], ['text', 'audio']],
  audio: [{ voice: 'a', format: 'wav' }],
  chat_template_kwargs: [{ enable_thinking: true }, { enable_thinking: 'true' }],
  chat_template: ['{{ messages }}'],
  think: [true],
  reasoning: [{ effort: 'high', summary: 'auto' }, { exclude: true }],
  reasoning_effort: ['high'],
  include_reasoning: [false],
  reasoning_format: ['none'],
  response_format: [{ type: 'text' }, { type: 'json_object' }],
  prediction: [{ type: 'content', content: 'x' }],
  models: [['theirs-too']],
  route: ['fallback'],
  extra_body: [{ n: 2, echo: true }],
  guided_regex: ['.*'],
  stop: ['zz', ['q', 'r']],
  max_tokens: [40],
  max_completion_tokens: [40],
  max_output_tokens: [40],
  temperature: [0, 1],
  verbose: [true],
  whole: [true],
  truncation: ['auto', 'disabled'],
  background: [true],
  store: [true, false],
  include: [['message.output_text.logprobs'], ['code_interpreter_call.outputs'], []],
  previous_response_id: ['resp_1'],
  conversation: ['conv_1', { id: 'conv_1' }],
  metadata: [{ any: 'thing' }],
  messages: [
    [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
    [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'so', prefix: true },
    ],
  ],
  input: [
    [{ type: 'item_reference', id: 'msg_1' }],
    [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }],
  ],
  prompt: [['a', 'b'], { id: 'pmpt_1' }, [[1, 2], [3]]],
  clamp: [true],
  resumable: [true],
  __proto__x: [{ n: 2 }],
};

const GUARDS: readonly unknown[] = [
  ...[null, {}, { enabled: false }, { enabled: true }, { action: 'annotate' }, { rate: 1e-9 }],
  ...[
    { delivery: 'immediate' },
    { method: 'margin', methods: ['margin'] },
    { lag: 'skip' },
    { unscored: 'pass' },
  ],
];

const WRITING = ['/v1/chat/completions', '/v1/completions', '/v1/responses'];
const PATHS = [
  ...['/v1/embeddings', '/v1/score', '/v1/thing', '/v1/thing', '/v1/thing', '/v1/thing'],
  ...[
    '/v1/audio/transcriptions',
    '/v1/messages',
    '/v1/files',
    '/v1/files/file-1',
    '/v1/files/file-1/content',
  ],
  ...[
    '/v1/responses/resp_1',
    '/v1/responses/resp_1/input_items',
    '/v1/models/m',
    '/v1/models/m:generateContent',
  ],
  ...['/v1/load_lora_adapter', '/v1/models/load', '/v1/audio/chat/completions', '/v1/tickets', '/beta/x'],
  ...['/v1/chat/completions/chatcmpl-1', '/v1/conversations/conv_1', '/v1/batches', '/props', '/slots'],
];

const same = (path: string): string => path;
const MUTATIONS: readonly ((path: string) => string)[] = [
  (path) => path.replace('/v1/', '/v1/score/../'),
  (path) => path.replace('/v1/', '/v1/embeddings/%2e%2e/'),
  (path) => path.replace('/v1/', '/v1/models/.%2E/'),
  (path) => path.replace('/v1/', '/v1/models/..%2f'),
  (path) => path.replace('/v1/', '/v1/score/..%5c'),
  (path) => path.replace('/v1/', '/v1/score/..;/'),
  (path) => path.replace('/v1/', '/v1/score\\..\\'),
  (path) => path.replace('/v1/', '/v1//'),
  (path) => path.replace('/v1/', '/v1/./'),
  (path) => path.replace('/v1/', '/V1/'),
  (path) => path.replace('c', '%63'),
  (path) => `${path}/`,
  (path) => `${path};x=1`,
  (path) => `${path}?model=theirs-too`,
  (path) => `${path}%00`,
  (path) => `http://elsewhere${path}`,
  (path) => path.toUpperCase(),
];

const METHODS = ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'TRACE', 'OPTIONS', 'SEARCH'];

const JSON_TYPES = ['application/json', 'application/json; charset=utf-8', 'application/JSON;x=y'];
const RAW_TYPES = ['multipart/form-data; boundary=b', 'audio/wav', 'application/octet-stream'];
const TYPES = [
  ...['text/plain', '', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=b'],
  ...['application/json; charset=utf-16le', 'application/octet-stream'],
];

/** Mostly the honest ones, or hardly any request would get anywhere. */
const mostly = <T>(honest: readonly T[], others: readonly T[], weight = 5): fc.Arbitrary<T> =>
  fc.oneof(
    { weight, arbitrary: fc.constantFrom(...honest) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

/** Fields that an API has, by the field of its prompt; servers may have more. */
const OF_API: Readonly<Record<'messages' | 'prompt' | 'input', readonly string[]>> = {
  messages: [
    ...[
      'tools',
      'models',
      'tool_choice',
      'functions',
      'chat_template_kwargs',
      'reasoning_effort',
      'modalities',
      'stop',
      'n',
    ],
    ...[
      'logprobs',
      'stream_options',
      'response_format',
      'max_tokens',
      'temperature',
      'logit_bias',
      'metadata',
    ],
  ],
  prompt: [
    ...[
      'n',
      'best_of',
      'echo',
      'suffix',
      'logprobs',
      'stop',
      'max_tokens',
      'temperature',
      'prompt',
      'logit_bias',
    ],
  ],
  input: [
    ...[
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'reasoning',
      'truncation',
      'include',
      'max_output_tokens',
    ],
    ...[
      'background',
      'store',
      'input',
      'previous_response_id',
      'conversation',
      'prompt',
      'metadata',
      'temperature',
    ],
  ],
};

const fields = (api: keyof typeof OF_API): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  fc
    .uniqueArray(mostly(OF_API[api], Object.keys(FIELDS), 3), { maxLength: 3 })
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc.constantFrom(...(FIELDS[name] ?? [])).map((value) => [name, value] as const),
        ),
      ),
    )
    .map((entries) => Object.fromEntries(entries));

/** How an object is written. */
const plainly = (json: string): Buffer => Buffer.from(json);
const WRITTEN: readonly ((json: string) => Buffer)[] = [
  // The same key twice; its name in escapes; in a list; after a mark; in another encoding; with something after it.
  (json) => Buffer.from(json.replace(/\}$/, ',"n":2,"model":"m"}')),
  (json) => Buffer.from(json.replace(/^\{/, '{"n":2,"guard":{"enabled":false},')),
  (json) => Buffer.from(json.replace(/\}$/, ',"\\u006e":2,"\\u0065cho":true}')),
  (json) => Buffer.from(`[${json}]`),
  (json) => Buffer.from(`\uFEFF${json}`),
  (json) => Buffer.from(json, 'utf16le'),
  (json) => Buffer.from(`${json}\r\n`),
  (json) => Buffer.from(`${json}{"n":2}`),
];

const asked = (api: keyof typeof OF_API) =>
  fc.record({
    model: mostly<unknown>(['m', 'm', 'm', 'free'], ['theirs-too', 'other', undefined], 12),
    guard: mostly<unknown>([undefined], GUARDS, 8),
    stream: mostly<unknown>([true, false, undefined], ['true', 1], 20),
    more: fields(api),
  });

const written = mostly([plainly], WRITTEN, 12);

/**
 * A request of a key.
 * @param words of its prompt
 * @param ids of events that others were told, or it was
 */
export function hostileRequest(
  key: string,
  words: string,
  ids: () => readonly string[],
): fc.Arbitrary<HostileRequest> {
  const own = { messages: [{ role: 'user', content: words }], input: words, prompt: words };
  const object = (path: string) => {
    const lower = path.toLowerCase();
    const api = lower.includes('chat') ? 'messages' : lower.includes('responses') ? 'input' : 'prompt';
    return asked(api).map(({ model, guard, stream, more }) => ({
      model,
      [api]: own[api],
      ...(stream !== undefined && { stream }),
      ...(guard !== undefined && { guard }),
      ...more,
    }));
  };
  const path = fc
    .tuple(mostly(WRITING, PATHS, 4), mostly([same], MUTATIONS, 10))
    .map(([each, change]) => change(each));
  const http = path
    .chain((target) =>
      fc.record({
        target: fc.constant(target),
        method: target.startsWith('/v1/thing')
          ? fc.constantFrom(...METHODS, 'POST')
          : mostly(['POST'], METHODS, 20),
        type: target.startsWith('/v1/thing')
          ? fc.constantFrom(...TYPES, ...RAW_TYPES)
          : mostly(JSON_TYPES, TYPES, 20),
        body: fc.oneof(
          {
            weight: 8,
            arbitrary: fc.tuple(object(target), written).map(([json, write]) => write(JSON.stringify(json))),
          },
          { weight: 2, arbitrary: object(target).map((json) => smuggled(JSON.stringify(json))) },
          { weight: 1, arbitrary: fc.constant(Buffer.alloc(0)) },
        ),
        framing: mostly(['length', 'chunks'], ['both', 'trailer', 'none'], 20),
        resumes: fc.nat(),
      }),
    )
    .map(({ target, method, type, body, framing, resumes }): HostileRequest => {
      const known = ids();
      const last = resumes % 16 === 0 && known.length > 0 ? known[resumes % known.length] : undefined;
      const lines = [
        `${method} ${target} HTTP/1.1`,
        'Host: localhost',
        'Connection: close',
        `Authorization: Bearer ${key}`,
        ...(type ? [`Content-Type: ${type}`] : []),
        ...(last ? [`Last-Event-ID: ${last}`] : []),
        ...(framing === 'length' || framing === 'both' ? [`Content-Length: ${body.length}`] : []),
        ...(framing === 'chunks' || framing === 'both' || framing === 'trailer'
          ? ['Transfer-Encoding: chunked']
          : []),
        ...(framing === 'trailer' ? ['Trailer: X-A'] : []),
      ];
      const end = framing === 'trailer' ? 'X-A: b\r\n\r\n' : '\r\n';
      const chunk =
        body.length === 0
          ? Buffer.alloc(0)
          : Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
      const inChunks = Buffer.concat([chunk, Buffer.from(`0\r\n${end}`)]);
      const plain = framing === 'length' || framing === 'none';
      return { kind: 'http', head: `${lines.join('\r\n')}\r\n\r\n`, body: plain ? body : inChunks };
    });
  const message = fc
    .tuple(
      object('chat'),
      fc.constantFrom('generation.create', 'generation.create', 'generation.resume', 'generation.cancel'),
      fc.nat(),
    )
    .map(([json, type, at]): HostileRequest => {
      const { stream: _, ...create }: Readonly<Record<string, unknown>> = json;
      const known = ids();
      const [epoch, response_id] = (known[at % Math.max(1, known.length)] ?? 'e/r/0').split('/');
      if (type === 'generation.create') return { kind: 'message', fields: { type, ...create } };
      const place = type === 'generation.resume' ? { epoch, offset: 0 } : {};
      return { kind: 'message', fields: { type, response_id, ...place } };
    });
  return fc.oneof({ weight: 4, arbitrary: http }, { weight: 1, arbitrary: message });
}

/** A request within a body. */
const smuggled = (json: string): Buffer =>
  Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
  );
