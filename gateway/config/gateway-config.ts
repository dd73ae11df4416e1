import { z } from 'zod';
import { DEVICE_CHOICES, PRECISIONS } from '../../src/engine/device.js';
import { contradictionIn } from '../policy/contradiction.js';
import { passedRoutes } from '../policy/passed-routes.js';
import { policySchema } from '../policy/policy-schema.js';
import { voteSchema } from '../policy/vote-schema.js';

const MIB = 1 << 20;

/** Events that webhooks can receive. */
export const WEBHOOK_EVENTS = ['flag', 'verdict'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** What texts of a field are, for {@link ./content.ts}: without it, they are taken for secrets. */
const plain = { content: 'plain' };
const address = { content: 'address' };

/** A name, a path or a pattern. */
const plainText = z.string().min(1).meta(plain);
const seconds = (fallback: number, min = 0, max = 86_400) => z.number().min(min).max(max).default(fallback);
const port = z.int().min(0).max(65_535);
const positive = z.int().min(1).optional();
const count = (fallback: number, min = 1, max = 1_000_000) => z.int().min(min).max(max).default(fallback);

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((url) => !URL.canParse(url) || !(new URL(url).username || new URL(url).password), {
    error: 'must not contain a password; use key_env or key_file',
  })
  .refine((url) => !url.includes('#'), { error: 'must not contain a fragment ("#"); it would not be sent' });

/** Address of one server, as registered with IANA; database numbers separate the data of gateways that share it. */
const redisUrl = z.string({ error: 'state.url is required' }).refine(
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname, pathname, search, hash } = new URL(text);
    return /^rediss?:$/.test(protocol) && hostname !== '' && /^(\/\d*)?$/.test(pathname) && !search && !hash;
  },
  { error: 'must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT/DATABASE' },
);

const device = z
  .enum(DEVICE_CHOICES)
  .default('cpu')
  .describe('Execution device of the checkpoint or the scorer; `auto` selects the best one available.');
const memory = positive.describe(
  'Limit for the predicted memory of all sequences, in bytes; default: 70 % of free memory. If several models share a machine, give each its share.',
);
const guard = policySchema.optional();

const calibration = plainText
  .optional()
  .describe(
    'Calibration file of `flinch calibrate` for the checkpoint or the scorer; default: the one beside it, or else the one that comes with flinch for these weights.',
  );

const escalate = z
  .strictObject({
    to: plainText.describe('Name of the other model.'),
  })
  .optional()
  .describe(
    'Model that answers in place of a flagged answer, where the guard has `action: escalate`; default: none.',
  );

const checkpointSchema = z
  .strictObject({
    checkpoint: plainText.describe('Checkpoint folder in the Hugging Face layout, or a GGUF file.'),
    device,
    precision: z
      .enum(PRECISIONS)
      .optional()
      .describe(
        'Numbers that the model writes with; `int8` is faster on a CPU. Default: `int8` for weights in integers (GGUF, GPTQ, AWQ) on a CPU, else `fp32`. Passes that score are in fp32 either way.',
      ),
    max_streams: count(16, 1, 1024).describe('Maximum concurrent responses.'),
    memory,
    calibration,
    escalate,
    vote: voteSchema.meta(plain).optional(),
    guard: guard.describe('Policy for requests for this model.'),
  })
  .refine(({ device, precision }) => precision !== 'int8' || device === 'cpu' || device === 'auto', {
    path: ['precision'],
    error: 'int8 runs on the device cpu only',
  })
  .describe('A checkpoint that the gateway runs itself.');

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .meta(plain);

/** Headers that the gateway sends itself, and those of one connection alone (RFC 9110, section 7.6.1). */
const OWN_HEADERS =
  /^(accept|accept-encoding|connection|content-length|content-type|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { error: 'is not a valid name of a header' })
  .refine((name) => !OWN_HEADERS.test(name), { error: 'is set by the gateway itself' });

/** Path of a file that holds a secret, such as a mounted one. */
const secretFile = z.string().min(1).meta({ content: 'secretFile' });

const headerValue = z.union(
  [
    z.string().regex(/^[\x20-\x7e]{1,4096}$/),
    z.strictObject({ env: variable }),
    z.strictObject({ file: secretFile }),
  ],
  { error: 'must be printable ASCII, {env: NAME} or {file: PATH}' },
);

const upstreamSchema = z
  .strictObject({
    url: httpUrl
      .meta(address)
      .describe(
        'URL of the server, including `/v1`; a query such as `?api-version=…` is sent with every request.',
      ),
    model: plainText.optional().describe("The model's name on the server; default: the name used here."),
    key_env: variable.optional().describe("Environment variable with the server's API key."),
    key_file: secretFile.optional().describe("File with the server's API key, instead of `key_env`."),
    headers: z
      .record(headerName, headerValue)
      .default({})
      .describe(
        'Further headers of every request; `{env: NAME}` takes the value from an environment variable, `{file: PATH}` from a file.',
      ),
  })
  .refine(({ key_env, key_file }) => key_env === undefined || key_file === undefined, {
    path: ['key_file'],
    error: 'cannot be used with key_env',
  });

export const upstreamModelSchema = z
  .strictObject({
    upstreams: z
      .array(upstreamSchema)
      .min(1)
      .max(16)
      .describe('OpenAI-compatible servers; the first one that answers is used.'),
    scorer: plainText
      .optional()
      .describe(
        "Checkpoint folder of the same weights, which scores the servers' output; default: no scorer.",
      ),
    scorer_url: z
      .union([httpUrl, z.array(httpUrl).min(1).max(16)])
      .transform((urls) => (typeof urls === 'string' ? [urls] : urls))
      .meta(address)
      .optional()
      .describe(
        'Inference servers that run the graphs of `scorer`, which `flinch export triton` wrote: one address or several; default: a process of this gateway.',
      ),
    scorer_model: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, { error: 'is not a name that `flinch export triton` gives' })
      .meta(plain)
      .optional()
      .describe('Name of the exported model on these servers.'),
    calibration,
    device,
    max_streams: count(64, 1, 4096).describe('Maximum concurrent responses.'),
    passthrough: passedRoutes
      .meta(plain)
      .describe(
        'Other requests that go to the servers as they come, unscored, with the key of the gateway: a list of methods and paths, such as `POST /v1/classify`, or `true` for those that write no text and store nothing (embeddings, moderations, rerank, score, tokenize, detokenize, images/generations, audio/speech). A path that you list is open to all keys.',
      ),
    memory,
    timeouts: z
      .strictObject({
        first_byte_s: seconds(120, 0.001).describe(
          'Time limit for the first byte of the body. In a stream, the first content must come within it too, or within `idle_s` of the first byte if that is later.',
        ),
        idle_s: seconds(60, 0.001).describe(
          'Time limit between two parts of the body; in a stream, between two chunks with content. Comments do not count.',
        ),
      })
      .prefault({})
      .describe('Time limits for a server.'),
    retries: z
      .int()
      .min(0)
      .max(5)
      .default(1)
      .describe('Retries for each server; requests are only retried before the first byte of an answer.'),
    escalate,
    vote: voteSchema.meta(plain).optional(),
    guard: guard.describe('Policy for requests for this model.'),
  })
  .superRefine(({ scorer, scorer_url: url, scorer_model: model }, context) => {
    const needs = (field: string, other: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: `requires ${other}` });
    if (url && scorer === undefined) needs('scorer_url', 'scorer');
    if (url && model === undefined) needs('scorer_url', 'scorer_model');
    if (!url && model !== undefined) needs('scorer_model', 'scorer_url');
  })
  .describe('A model that other servers run.');

export type UpstreamModelConfig = z.output<typeof upstreamModelSchema>;
export type CheckpointConfig = z.output<typeof checkpointSchema>;

const keySchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, ".", "_" or "-"' })
    .meta(plain)
    .describe('Name of the key in logs.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({ content: 'hash' })
    .optional()
    .describe('SHA-256 of the key, in hexadecimal.'),
  env: variable.optional().describe('Environment variable with the key, instead of `sha256`.'),
  key_file: secretFile
    .optional()
    .describe('File with the key, instead of `sha256`; read again when the configuration is reloaded.'),
  metrics: z.boolean().default(false).describe('Whether the key may read `/metrics`.'),
  generate: z
    .boolean()
    .optional()
    .describe('Whether the key may use the models; default: the opposite of `metrics`.'),
  requests_per_minute: positive.describe('Overrides `access.requests_per_minute` for this key.'),
  generations: positive.describe('Overrides `access.generations` for this key.'),
  guard: guard.describe('Policy for requests with this key.'),
});

export type KeyConfig = z.output<typeof keySchema>;

const webhookSchema = z
  .strictObject({
    url: httpUrl
      .meta({ content: 'receiver' })
      .describe('Where messages are sent by POST; redirects are not followed.'),
    secret_env: variable
      .optional()
      .describe(
        'Environment variable with the secret that signs messages: `whsec_` and 24 to 64 bytes in Base64 (Standard Webhooks).',
      ),
    secret_file: secretFile.optional().describe('File with the secret, instead of `secret_env`.'),
    events: z
      .array(z.enum(WEBHOOK_EVENTS))
      .min(1)
      .default([...WEBHOOK_EVENTS])
      .describe('What is sent: `flag` for each flagged step, `verdict` for each answer.'),
  })
  .refine(({ secret_env, secret_file }) => (secret_env === undefined) !== (secret_file === undefined), {
    error: 'must have either secret_env or secret_file',
  });

export type WebhookConfig = z.output<typeof webhookSchema>;

/** Origin as browsers send it: no path, no default port, lower case. */
const origin = z
  .string()
  .refine((text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text), {
    error: 'must be an origin such as https://chat.example.org, or "*"',
  })
  .meta(plain);

const keys = z
  .array(
    keySchema.refine(
      ({ sha256, env, key_file }) =>
        [sha256, env, key_file].filter((each) => each !== undefined).length === 1,
      { error: 'must have one of sha256, env and key_file' },
    ),
  )
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
    error: 'contains a duplicate name',
  });

const sections = z.strictObject({
  listen: z
    .strictObject({
      host: plainText
        .default('127.0.0.1')
        .describe('Address to listen on. Non-loopback addresses require keys or `access.allow_anonymous`.'),
      port: port.default(8787).describe('Port to listen on; 0 selects a free one.'),
    })
    .prefault({}),
  workers: count(1, 1, 256).describe(
    'Processes that serve the port. Engines stay single, and limits are of all processes together.',
  ),
  metrics: z
    .strictObject({
      host: plainText
        .default('127.0.0.1')
        .describe('Address of the separate metrics port, which requires no key.'),
      port: port
        .optional()
        .describe("Separate port for `/metrics`; default: the gateway's port, where keys apply."),
    })
    .prefault({}),
  health: z
    .strictObject({
      host: plainText
        .default('127.0.0.1')
        .describe('Address of the separate health port, which requires no key.'),
      port: port
        .optional()
        .describe(
          "Separate port for `/livez`, `/readyz`, `/healthz` and `/metrics`, which answers while the gateway's port is full; default: none.",
        ),
    })
    .prefault({}),
  models: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/, { error: 'is not a valid model name' }),
      z.union([checkpointSchema, upstreamModelSchema]),
    )
    .refine((models) => Object.keys(models).length > 0, { error: 'must contain at least one model' })
    .superRefine((models, context) => {
      for (const [name, { escalate }] of Object.entries(models)) {
        if (!escalate || (escalate.to !== name && Object.hasOwn(models, escalate.to))) continue;
        const message =
          escalate.to === name ? 'must be another model' : `${escalate.to} is not one of the models`;
        context.addIssue({ code: 'custom', path: [name, 'escalate', 'to'], message });
      }
    })
    .optional()
    .describe('Models by the name that requests use; default: the embedded reasoner.'),
  guard: guard.describe('Policy for all requests.'),
  access: z
    .strictObject({
      keys: keys
        .default([])
        .describe('API keys. Without keys, everyone who can reach the gateway may use it (default: none).'),
      allow_anonymous: z.boolean().default(false).describe('Allow non-loopback addresses without keys.'),
      origins: z
        .array(origin)
        .default([])
        .describe('Allowed origins of web pages, in addition to the gateway itself; `"*"` allows all.'),
      hosts: z
        .array(z.string().regex(/^(\*|[a-z0-9.-]+)$/, { error: 'must be a host name without port, or "*"' }))
        .meta(plain)
        .default([])
        .describe(
          'Allowed host names, in addition to `localhost` and IP addresses; `"*"` allows all. If there are keys, all are allowed.',
        ),
      requests_per_minute: count(6000).describe(
        'Request rate limit of each key without its own; without keys, of all clients together.',
      ),
      generations: count(64).describe('Maximum concurrent generations, per key or together as above.'),
      sockets: positive.describe(
        'Maximum open WebSockets of a key; without keys, of an address. Default: half of `limits.connections`.',
      ),
    })
    .prefault({}),
  limits: z
    .strictObject({
      body_bytes: count(MIB, 1024, 1 << 30).describe(
        'Maximum size of an HTTP request body, and of a WebSocket message.',
      ),
      prompt_characters: count(1_000_000).describe('Maximum total length of the messages of a request.'),
      response_tokens: positive.describe(
        'Maximum tokens of a response. Requests for more are refused; requests without a limit get this one. Default: no limit.',
      ),
      kept_bytes: z
        .int()
        .min(1024)
        .optional()
        .describe(
          'Maximum memory of all answers that are kept until they end, estimated, in bytes: answers that are not streamed, `/v1/responses`, and answers with `rollback`; of `held` delivery and with `escalate` or `vote`, what is not sent. Beyond it, the largest of them ends with `answer_too_large`. Each worker has as much. Default: a quarter of the heap of Node.',
        ),
      connections: count(1024).describe(
        'Maximum open connections. At the limit, a new one takes the place of one without a request.',
      ),
      connections_per_address: positive.describe(
        'Maximum open connections of an IPv4 address, or of the first 64 bits of an IPv6 address. Default: seven eighths of `connections`. Behind a proxy, set it to `connections`.',
      ),
    })
    .prefault({}),
  streams: z
    .strictObject({
      resume_s: seconds(60, 0).describe(
        'How long a resumable generation is kept after its connection is lost, and after its end. Must exceed two heartbeats, because a client may notice a lost connection only then.',
      ),
      stall_s: seconds(30, 0.05).describe('Time without reading after which a connection is closed.'),
    })
    .prefault({}),
  state: z
    .strictObject({
      url: redisUrl
        .meta(address)
        .describe(
          'Redis or Valkey server that gateways share: limits of keys and tickets are of all of them together, and any of them resumes a generation. A URL with a password belongs in the variable.',
        ),
      failure_mode: z
        .enum(['open', 'closed'])
        .default('open')
        .describe(
          'What limits of keys do while the server is away: `open`, each gateway counts alone; `closed`, what is limited is refused with `state_unavailable`.',
        ),
    })
    .optional()
    .describe('What gateways on several machines share; default: nothing.'),
  webhooks: z
    .array(webhookSchema)
    .max(16)
    .default([])
    .describe('Receivers of flags and verdicts (default: none).'),
  shutdown: z
    .strictObject({
      drain_s: seconds(30, 0).describe('Time limit for running responses to finish at shutdown.'),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('Minimum level logged on standard error.'),
      format: z
        .enum(['pretty', 'json'])
        .optional()
        .describe(
          'Form of the log: short lines for people (`pretty`), or `json` for programs; default: `pretty` if standard error is a terminal, otherwise `json`.',
        ),
      texts: z.boolean().default(false).describe('Whether prompts and responses may be logged.'),
    })
    .prefault({}),
});

/** The configuration of `flinch serve`; every part has a default. docs/reference is generated from its descriptions. */
export const configSchema = sections.superRefine((config, context) => {
  const found = contradictionIn(config);
  if (found) context.addIssue({ code: 'custom', path: [...found.path], message: found.problem });
});

export type Config = z.output<typeof configSchema>;
/** Configuration as it may be written: every field can be left out. */
export type ConfigInput = z.input<typeof configSchema>;
