import { z } from 'zod';
import { count, guard, plain, positive, secretFile, variable } from './config-fields.js';

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

export const accessSection = z
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
  .prefault({});
