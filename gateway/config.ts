import { z } from 'zod';
import { DEVICE_CHOICES } from '../src/engine/device.js';

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

/** A checkpoint that the gateway runs itself. */
const checkpointSchema = z.strictObject({
  checkpoint: z.string().min(1),
  device: z.enum(DEVICE_CHOICES).default('cpu'),
  max_streams: count(16, 1, 1024),
  /** Bytes that texts may be predicted to need; by default a share of what is free. */
  memory: z.int().min(1).optional(),
});

const upstreamSchema = z.strictObject({
  /** Up to and with `/v1`. */
  url: httpUrl,
  /** What the server calls the model; by default as it is called here. */
  model: z.string().min(1).optional(),
  /** The environment variable that holds the key. */
  key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional(),
});

/** A model that other servers run: the first that answers is used. */
const upstreamModelSchema = z.strictObject({
  upstreams: z.array(upstreamSchema).min(1).max(16),
  /** Folder of the same weights, which scores what the servers write. */
  scorer: z.string().min(1).optional(),
  device: z.enum(DEVICE_CHOICES).default('cpu'),
  max_streams: count(64, 1, 4096),
  memory: z.int().min(1).optional(),
  timeouts: z
    .strictObject({
      /** Until the connection stands. */
      connect_s: seconds(5, 0.001),
      /** Until the first byte of the body, which for a stream is the first token or a comment. */
      first_byte_s: seconds(120, 0.001),
      /** Between two parts of the body. */
      idle_s: seconds(60, 0.001),
    })
    .prefault({}),
  /** Further tries of each server, before its first byte alone. */
  retries: z.int().min(0).max(5).default(1),
  limits: z
    .strictObject({
      line_bytes: count(MIB, 1024, 1 << 30),
      response_bytes: count(64 * MIB, 1024, 2 ** 40),
    })
    .prefault({}),
});

export type UpstreamModelConfig = z.output<typeof upstreamModelSchema>;
export type CheckpointConfig = z.output<typeof checkpointSchema>;

const keySchema = z.strictObject({
  /** For logs, in place of the key. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, ".", "_" or "-"' }),
  /** SHA-256 of the key, in hexadecimal; or the environment variable that holds the key. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional(),
  /** Whether it may read `/metrics`; such a key does nothing else unless `generate` says so. */
  metrics: z.boolean().default(false),
  /** By default whatever may not read `/metrics`. */
  generate: z.boolean().optional(),
  requests_per_minute: z.int().min(1).optional(),
  generations: z.int().min(1).optional(),
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

/** The configuration of `flinch serve`; every part has a default. */
export const configSchema = z.strictObject({
  listen: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      port: z.int().min(0).max(65_535).default(8787),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      /** A listener of its own for `/metrics`; without one it is on the gateway's, where keys are asked for it. */
      host: z.string().min(1).default('127.0.0.1'),
      port: z.int().min(0).max(65_535).optional(),
    })
    .prefault({}),
  /** By the names that requests give. */
  models: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/, { error: 'is no name for a model' }),
      z.union([checkpointSchema, upstreamModelSchema]),
    )
    .refine((models) => Object.keys(models).length > 0, { error: 'must name a model' })
    .optional(),
  access: z
    .strictObject({
      keys: keys.default([]),
      /** Other addresses than loopback without keys: whoever reaches the port uses the models. */
      allow_anonymous: z.boolean().default(false),
      /** Origins, beside the gateway's own, whose pages may use it; `"*"` for all. */
      origins: z.array(origin).default([]),
      /** Names by which clients may reach it, beside those of loopback; `"*"` for all. Where there are keys, all. */
      hosts: z
        .array(z.string().regex(/^(\*|[a-z0-9.-]+)$/, { error: 'must be a host name without port, or "*"' }))
        .default([]),
      ticket_s: seconds(30, 1),
      /** For each key that does not say, and for everybody without one together. */
      requests_per_minute: count(6000),
      generations: count(64),
    })
    .prefault({}),
  limits: z
    .strictObject({
      body_bytes: count(MIB, 1024, 1 << 30),
      message_bytes: count(MIB, 1024, 1 << 30),
      /** Characters of all messages of a request together. */
      prompt_characters: count(1_000_000),
      /** Tokens of a response; a request that asks for more is refused, one that does not say gets at most these. */
      response_tokens: z.int().min(1).optional(),
      connections: count(1024),
      generations_per_connection: count(8, 1, 1024),
      messages_per_second: count(50),
      header_s: seconds(10, 0.1),
      body_s: seconds(30, 0.1),
    })
    .prefault({}),
  streams: z
    .strictObject({
      /** Clients give a connection up on which they heard nothing for 45 s: two of these, and time to spare. */
      heartbeat_s: seconds(15, 0.05, 20),
      /** Of each generation: events and their bytes that can be sent again. */
      history_events: count(4096),
      history_bytes: count(MIB, 1024, 1 << 30),
      /** Of all of them together. */
      histories_bytes: count(64 * MIB, 1024, 2 ** 40),
      /**
       * How long a generation that asked for it outlives its connection, and its end. Longer than two heartbeats, after
       * which a client may find out that the connection is gone.
       */
      resume_s: seconds(60, 0),
      /** Bytes that may wait for a client before its generations pause. */
      queue_bytes: count(256 << 10, 1024, 1 << 30),
      /** After this long without reading, the client's connection is closed. */
      stall_s: seconds(30, 0.05),
    })
    .prefault({}),
  shutdown: z.strictObject({ drain_s: seconds(30, 0) }).prefault({}),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
      /** Whether prompts and responses may be logged. */
      texts: z.boolean().default(false),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
/** As it may be written: every field can be left out. */
export type ConfigInput = z.input<typeof configSchema>;
