import { z } from 'zod';
import { DEVICE_CHOICES } from '../../src/engine/device.js';

const MIB = 1 << 20;

const seconds = (fallback: number, min = 0, max = 86_400) => z.number().min(min).max(max).default(fallback);
const count = (fallback: number, min = 1, max = 1_000_000) => z.int().min(min).max(max).default(fallback);

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((url) => !URL.canParse(url) || !(new URL(url).username || new URL(url).password), {
    error: 'must not hold a password: use key_env',
  })
  .refine((url) => !URL.canParse(url) || /^[^?#]*$/.test(url), {
    error: 'must end with the path: what follows "?" or "#" would not be sent',
  });

const device = z
  .enum(DEVICE_CHOICES)
  .default('cpu')
  .describe('What computes; `auto` takes the best that works.');
const memory = z
  .int()
  .min(1)
  .optional()
  .describe(
    'Bytes that texts may be predicted to need; by default 70 % of what is free. Where several models share a machine, give each its part.',
  );
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/);

const checkpointSchema = z
  .strictObject({
    checkpoint: z.string().min(1).describe('Folder in the Hugging Face layout.'),
    device,
    max_streams: count(16, 1, 1024).describe('Responses under way at once.'),
    memory,
  })
  .describe('A checkpoint that the gateway runs itself.');

const upstreamSchema = z.strictObject({
  url: httpUrl.describe('Address of the server, up to and with `/v1`.'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe('What the server calls the model; by default as it is called here.'),
  key_env: variable.optional().describe("Environment variable that holds the server's key."),
});

const upstreamModelSchema = z
  .strictObject({
    upstreams: z
      .array(upstreamSchema)
      .min(1)
      .max(16)
      .describe('OpenAI-compatible servers; the first that answers is used.'),
    scorer: z
      .string()
      .min(1)
      .optional()
      .describe('Folder of the same weights, which score what the servers write; by default none.'),
    device: device.describe('What computes the scores of `scorer`.'),
    max_streams: count(64, 1, 4096).describe('Responses under way at once.'),
    memory,
    timeouts: z
      .strictObject({
        connect_s: seconds(5, 0.001).describe('Seconds until the connection stands.'),
        first_byte_s: seconds(120, 0.001).describe(
          'Seconds until the first byte of the body, which for a stream is the first token or a comment.',
        ),
        idle_s: seconds(60, 0.001).describe('Seconds between two parts of the body.'),
      })
      .prefault({})
      .describe('How long a server may take.'),
    retries: z
      .int()
      .min(0)
      .max(5)
      .default(1)
      .describe('Further tries of each server, before its first byte alone.'),
    limits: z
      .strictObject({
        line_bytes: count(MIB, 1024, 1 << 30).describe('Longest line, or event, of an answer.'),
        response_bytes: count(64 * MIB, 1024, 2 ** 40).describe('Longest answer.'),
      })
      .prefault({})
      .describe('What is taken from a server, at most.'),
  })
  .describe('A model that other servers run.');

export type UpstreamModelConfig = z.output<typeof upstreamModelSchema>;
export type CheckpointConfig = z.output<typeof checkpointSchema>;

const keySchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, ".", "_" or "-"' })
    .describe('Stands for the key in logs.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe('SHA-256 of the key, in hexadecimal.'),
  env: variable.optional().describe('Environment variable that holds the key; in place of `sha256`.'),
  metrics: z.boolean().default(false).describe('Whether it may read `/metrics`.'),
  generate: z
    .boolean()
    .optional()
    .describe('Whether it may use the models; by default what may not read `/metrics` may.'),
  requests_per_minute: z.int().min(1).optional().describe('In place of `access.requests_per_minute`.'),
  generations: z.int().min(1).optional().describe('In place of `access.generations`.'),
});

export type KeyConfig = z.output<typeof keySchema>;

/** As browsers send them: no path, no default port, lower case. */
const origin = z
  .string()
  .refine((text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text), {
    error: 'must be an origin such as https://chat.example.org, or "*"',
  });

const keys = z
  .array(
    keySchema.refine((key) => (key.sha256 === undefined) !== (key.env === undefined), {
      error: 'must have either sha256 or env',
    }),
  )
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
    error: 'has the same name twice',
  });

/** The configuration of `flinch serve`; every part has a default. What it says of its fields is their manual. */
export const configSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .describe('Address to listen on; others than loopback need keys, or `access.allow_anonymous`.'),
      port: z.int().min(0).max(65_535).default(8787).describe('0 picks a free one.'),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .describe('Address of the port for metrics, where no key is asked for.'),
      port: z
        .int()
        .min(0)
        .max(65_535)
        .optional()
        .describe(
          "A port of its own for `/metrics`; by default it is on the gateway's, where keys are asked for it.",
        ),
    })
    .prefault({}),
  models: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/, { error: 'is no name for a model' }),
      z.union([checkpointSchema, upstreamModelSchema]),
    )
    .refine((models) => Object.keys(models).length > 0, { error: 'must name a model' })
    .optional()
    .describe('What is served, by the names that requests give; by default the embedded reasoner.'),
  access: z
    .strictObject({
      keys: keys.default([]).describe('API keys. Without any, whoever reaches the gateway may use it.'),
      allow_anonymous: z
        .boolean()
        .default(false)
        .describe('Serve other addresses than loopback without keys.'),
      origins: z
        .array(origin)
        .default([])
        .describe('Origins, beside the gateway\'s own, whose pages may use it; `"*"` for all.'),
      hosts: z
        .array(z.string().regex(/^(\*|[a-z0-9.-]+)$/, { error: 'must be a host name without port, or "*"' }))
        .default([])
        .describe(
          'Names by which clients may call it, beside `localhost` and addresses; `"*"` for all. Where there are keys, all.',
        ),
      ticket_s: seconds(30, 1).describe('Seconds that a ticket for a WebSocket is good.'),
      requests_per_minute: count(6000).describe(
        'Of each key that does not say; of everybody together where there are no keys.',
      ),
      generations: count(64).describe('Under way at once, of the same.'),
    })
    .prefault({}),
  limits: z
    .strictObject({
      body_bytes: count(MIB, 1024, 1 << 30).describe('Of the body of an HTTP request.'),
      message_bytes: count(MIB, 1024, 1 << 30).describe('Of a WebSocket message.'),
      prompt_characters: count(1_000_000).describe('Of all messages of a request together.'),
      response_tokens: z
        .int()
        .min(1)
        .optional()
        .describe(
          'Tokens of a response: a request for more is refused, one that does not say gets at most these; by default no limit.',
        ),
      connections: count(1024).describe('Open at once.'),
      generations_per_connection: count(8, 1, 1024).describe('At once on a WebSocket.'),
      messages_per_second: count(50).describe('On a WebSocket, pings too.'),
      header_s: seconds(10, 0.1).describe('Seconds until the headers of a request are there.'),
      body_s: seconds(30, 0.1).describe('Seconds until its body is, from then on.'),
    })
    .prefault({}),
  streams: z
    .strictObject({
      heartbeat_s: seconds(15, 0.05, 20).describe(
        'Seconds between signs of life where nothing else is said; clients give up a connection that is silent for 45.',
      ),
      history_events: count(4096).describe('Events of a resumable generation that can be sent again.'),
      history_bytes: count(MIB, 1024, 1 << 30).describe('Their bytes.'),
      histories_bytes: count(64 * MIB, 1024, 2 ** 40).describe('Of all resumable generations together.'),
      resume_s: seconds(60, 0).describe(
        'Seconds that a resumable generation outlives its connection, and its end; more than two heartbeats, after which a client may find out that the connection is gone.',
      ),
      queue_bytes: count(256 << 10, 1024, 1 << 30).describe(
        'Bytes that may wait for a client before its generations pause.',
      ),
      stall_s: seconds(30, 0.05).describe(
        'Seconds that a client may not read before its connection is closed.',
      ),
    })
    .prefault({}),
  shutdown: z
    .strictObject({
      drain_s: seconds(30, 0).describe(
        'Seconds that responses under way may take once the gateway is to end.',
      ),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('What the log on standard error holds.'),
      texts: z.boolean().default(false).describe('Whether prompts and responses may be logged.'),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
/** As it may be written: every field can be left out. */
export type ConfigInput = z.input<typeof configSchema>;
