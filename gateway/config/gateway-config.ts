import { z } from 'zod';
import { contradictionIn } from '../policy/contradiction.js';
import { accessSection } from './access-section.js';
import { address, count, guard, plainText, port, positive, seconds } from './config-fields.js';
import { modelsSection } from './models-section.js';
import { webhooksSection } from './webhooks-section.js';

const MIB = 1 << 20;

/** Address of one server, as registered with IANA; database numbers separate the data of gateways that share it. */
const redisUrl = z.string({ error: 'state.url is required' }).refine(
  (text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, hostname, pathname, search, hash } = new URL(text);
    return /^rediss?:$/.test(protocol) && hostname !== '' && /^(\/\d*)?$/.test(pathname) && !search && !hash;
  },
  { error: 'must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT/DATABASE' },
);

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
  models: modelsSection,
  guard: guard.describe('Policy for all requests.'),
  access: accessSection,
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
  webhooks: webhooksSection,
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
