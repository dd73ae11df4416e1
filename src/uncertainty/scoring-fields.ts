import { z } from 'zod';
import { METHODS, type Method } from './method-names.js';
import {
  DEFAULT_ALPHA,
  DEFAULT_BLOCK,
  DEFAULT_RANDOM,
  DEFAULT_TOKUR,
  DEFAULT_WINDOW,
  MAX_ALPHA,
  MAX_BLOCK,
  MAX_SAMPLES,
  MAX_TOKUR_SAMPLES,
  MIN_ALPHA,
  parseScale,
  type Scoring,
} from './settings.js';

/** A whole number. All its rules have the same message, on the wire and on the command line. */
export const integer = (min: number, max: number, error = `must be a whole number from ${min} to ${max}`) =>
  z.int({ error }).min(min, { error }).max(max, { error });

export const real = (min: number, max: number, error = `must be a number from ${min} to ${max}`) =>
  z.number({ error }).min(min, { error }).max(max, { error });

const sizeError = `must be a number from ${MIN_ALPHA} to ${MAX_ALPHA}, or a multiple of the embeddings' RMS such as 0.005rms`;

/** A number, or a text such as `0.005rms`, whose value is checked once the model is known. */
const size = z.union(
  [
    real(MIN_ALPHA, MAX_ALPHA, sizeError),
    z.string().transform((text, context) => {
      const scale = parseScale(text);
      if (scale !== null && typeof scale !== 'number' && scale.rms > 0) return scale;
      context.addIssue(sizeError);
      return z.NEVER;
    }),
  ],
  { error: sizeError },
);

const MAX_WINDOW = 65536;
const windowError = `must be a whole number from 1 to ${MAX_WINDOW}, or "all"`;

export const method = z.enum(METHODS, { error: `must be one of ${METHODS.join(', ')}` });

/** Names of methods; duplicates are removed. */
export const methods = z
  .array(method)
  .min(1)
  .max(METHODS.length)
  .transform((names) => [...new Set(names)]);

/**
 * Settings of scores, as requests and the command line name them: type, range, default and description of each
 * field. `(default: …)` at the end of a description says what a schema cannot. A request may have narrower ranges.
 */
export const scoringFields = {
  block: integer(1, MAX_BLOCK)
    .default(DEFAULT_BLOCK)
    .describe('Maximum number of new tokens scored by one pass.'),
  window: z
    .union([integer(1, MAX_WINDOW, windowError), z.literal('all')], { error: windowError })
    .optional()
    .describe(
      `Number of positions perturbed by one pass, at least \`block\`, or \`all\` (default: ${DEFAULT_WINDOW}, or \`block\` if that is larger).`,
    ),
  alpha: size
    .default(DEFAULT_ALPHA)
    .describe(
      `\`adversarial\`: size of the perturbation, absolute, or relative to the embeddings' root mean square as in \`0.005rms\` (default: ${DEFAULT_ALPHA}).`,
    ),
  sigma: size
    .default(DEFAULT_RANDOM.sigma)
    .describe(
      `\`random\`: standard deviation of the noise, absolute, or relative to the embeddings' root mean square as in \`0.005rms\` (default: ${DEFAULT_RANDOM.sigma}).`,
    ),
  samples: integer(2, MAX_SAMPLES)
    .default(DEFAULT_RANDOM.samples)
    .describe('`random`: number of draws of the noise, each with its own forward pass.'),
  tokur_sigma: real(MIN_ALPHA, MAX_ALPHA)
    .default(DEFAULT_TOKUR.sigma)
    .describe('`tokur_*`: standard deviation of the noise on the weights.'),
  tokur_samples: integer(2, MAX_TOKUR_SAMPLES)
    .default(DEFAULT_TOKUR.samples)
    .describe('`tokur_*`: number of sampled models, including the unperturbed one.'),
};

/** The window covers the block by default. */
export const withWindow = <
  Fields extends { readonly block: number; readonly window?: number | 'all' | undefined },
>(
  fields: Fields,
) => ({ ...fields, window: fields.window ?? Math.max(DEFAULT_WINDOW, fields.block) });

/** Settings of scores in the ranges of the engine; every field has a default. */
export const scoringSchema = z.strictObject(scoringFields).transform(withWindow);

export type ScoringFields = z.output<typeof scoringSchema>;

/**
 * The library's settings for streams. `checkScoring` says whether they fit together.
 * @param seed seed of the noise
 */
export function scoringOf(
  methods: readonly Method[],
  fields: ScoringFields,
  seed: number = DEFAULT_RANDOM.seed,
): Scoring {
  const { block, window, alpha, sigma, samples } = fields;
  return {
    methods,
    alpha,
    schedule: { kind: 'windowed', block, window },
    form: 'derivative',
    random: { sigma, samples, seed },
    tokur: { sigma: fields.tokur_sigma, samples: fields.tokur_samples, seed },
  };
}
