import { z } from 'zod';
import {
  DEVICE_CHOICES,
  type DeviceChoice,
  hasPrecision,
  PRECISIONS,
  type Precision,
} from '../../src/engine/device.js';
import { passedRoutes } from '../policy/passed-routes.js';
import { voteSchema } from '../policy/vote-schema.js';
import {
  address,
  count,
  guard,
  httpUrl,
  plain,
  plainText,
  positive,
  seconds,
  secretFile,
  variable,
} from './config-fields.js';

const device = z
  .enum(DEVICE_CHOICES)
  .default('cpu')
  .describe('Execution device of the checkpoint or the scorer; `auto` selects the best one available.');
const memory = positive.describe(
  'Limit for the predicted memory of all sequences, in bytes; default: 70 % of free memory. If several models share a machine, give each its share.',
);

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

const precision = z.enum(PRECISIONS).optional();
const PRECISION_HELP =
  '; `int8` is faster on a CPU, `bf16` on CUDA. Default: `int8` for weights in integers (GGUF, GPTQ, AWQ) on a CPU, else `fp32`.';
function checkPrecision(
  { device, precision }: { readonly device: DeviceChoice; readonly precision?: Precision | undefined },
  context: z.RefinementCtx,
): void {
  if (hasPrecision(device, precision)) return;
  const message = 'int8 runs on the device cpu only, bf16 on cuda only';
  context.addIssue({ code: 'custom', path: ['precision'], message });
}

const checkpointSchema = z
  .strictObject({
    checkpoint: plainText.describe('Checkpoint folder in the Hugging Face layout, or a GGUF file.'),
    device,
    precision: precision.describe(
      `Numbers that the model writes with, and that Adv. Pert. of streams is computed with${PRECISION_HELP}`,
    ),
    max_streams: count(16, 1, 1024).describe('Maximum concurrent responses.'),
    memory,
    calibration,
    escalate,
    vote: voteSchema.meta(plain).optional(),
    guard: guard.describe('Policy for requests for this model.'),
  })
  .superRefine(checkPrecision)
  .describe('A checkpoint that the gateway runs itself.');

/** Headers that the gateway sends itself, and those of one connection alone (RFC 9110, section 7.6.1). */
const OWN_HEADERS =
  /^(accept|accept-encoding|connection|content-length|content-type|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { error: 'is not a valid name of a header' })
  .refine((name) => !OWN_HEADERS.test(name), { error: 'is set by the gateway itself' });

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
    precision: precision.describe(
      `Numbers that the scorer computes Adv. Pert. of streams with${PRECISION_HELP}`,
    ),
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
  .superRefine(checkPrecision)
  .superRefine(({ scorer, scorer_url: url, scorer_model: model, precision }, context) => {
    const needs = (field: string, other: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: `requires ${other}` });
    if (url && scorer === undefined) needs('scorer_url', 'scorer');
    if (url && model === undefined) needs('scorer_url', 'scorer_model');
    if (!url && model !== undefined) needs('scorer_model', 'scorer_url');
    if (precision && scorer === undefined) needs('precision', 'scorer');
  })
  .describe('A model that other servers run.');

export type UpstreamModelConfig = z.output<typeof upstreamModelSchema>;
export type CheckpointConfig = z.output<typeof checkpointSchema>;

export const modelsSection = z
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
  .describe('Models by the name that requests use; default: the embedded reasoner.');
