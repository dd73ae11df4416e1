import type { TokurSettings } from '../numerics/tokur-noise.js';
import { DEFAULT_METHODS, METHODS, type Method } from './method-names.js';
import type { Schedule } from './schedule.js';

/** A size in the unit of the embeddings, or a multiple of their root mean square. */
export type Scale = number | { readonly rms: number };

/** Scores that are computed for each token, and how. */
export interface Scoring {
  readonly methods: readonly Method[];
  readonly schedule: Schedule;
  readonly alpha: Scale;
  /**
   * Of `adversarial`: perturb the embeddings and run the model again, as the paper does (the default), or take the
   * derivative along the perturbation, as streams do ({@link DEFAULT_SCORING}): the same to first order, free of the
   * rounding of a difference, and of a model in integers on a CPU computed in 8 bits.
   */
  readonly form?: 'perturb' | 'derivative';
  readonly random?: RandomSettings;
  readonly tokur?: TokurSettings;
  /** How many of the most probable tokens are reported beside each score; by default none. */
  readonly top?: number;
}

/** Rand. Pert. */
export interface RandomSettings {
  /** Standard deviation of the noise on every entry of an embedding. */
  readonly sigma: Scale;
  /** Draws per text. */
  readonly samples: number;
  readonly seed: number;
}

/** Settings as the engine applies them and as outputs report them. */
export interface AbsoluteScoring extends Scoring {
  readonly alpha: number;
  readonly random?: RandomSettings & { readonly sigma: number };
}

/** Step of the adversary on every entry of an embedding (arXiv 2602.02427, its default). */
export const DEFAULT_ALPHA = 1e-4;

/** Below this most steps vanish in the rounding of fp32 embeddings, and every token would look certain. */
export const MIN_ALPHA = 1e-6;
export const MAX_ALPHA = 1;

export const DEFAULT_BLOCK = 16;
export const MAX_BLOCK = 65536;
export const DEFAULT_WINDOW = 32;

/** l = 20, σ = 1e-3 are the paper's. */
export const DEFAULT_RANDOM = { sigma: 1e-3, samples: 20, seed: 0 } as const satisfies RandomSettings;
export const MAX_SAMPLES = 256;

/** M = 2, σ_q = 1e-3 are those of arXiv 2602.02427; the rank is 8. */
export const DEFAULT_TOKUR = {
  samples: 2,
  sigma: 1e-3,
  seed: 0,
} as const satisfies TokurSettings;

/** Maximum alternatives per token: a pass sends them to the parent for every token. */
export const MAX_TOP = 100;

/** All go through in one run. */
export const MAX_TOKUR_SAMPLES = 32;
export const DEFAULT_SCORING: AbsoluteScoring = {
  methods: DEFAULT_METHODS,
  schedule: { kind: 'windowed', block: DEFAULT_BLOCK, window: DEFAULT_WINDOW },
  alpha: DEFAULT_ALPHA,
  form: 'derivative',
};

/** Settings under which no score would mean anything. */
export class SettingsError extends RangeError {
  readonly type = 'settings';
  readonly field: string;
  readonly problem: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.name = 'SettingsError';
    this.field = field;
    this.problem = problem;
  }
}

/** Reads `1e-4` or `0.005rms`; `null` for other texts. */
export function parseScale(text: string): Scale | null {
  const relative = text.endsWith('rms');
  const number = relative ? text.slice(0, -3) : text;
  const value = number.trim() === '' ? Number.NaN : Number(number);
  if (!Number.isFinite(value)) return null;
  return relative ? { rms: value } : value;
}

/**
 * The same settings with every size absolute.
 * @param rms root mean square of the model's embeddings; called only if a size is relative
 * @throws SettingsError that names the field, also for a size that is out of range once it is known; errors of `rms`
 */
export async function absoluteScoring(
  scoring: Scoring,
  rms: () => Promise<number>,
): Promise<AbsoluteScoring> {
  checkScoring(scoring);
  const resolve = async (scale: Scale): Promise<number> =>
    typeof scale === 'number' ? scale : scale.rms * (await rms());
  const { random, ...rest } = scoring;
  const absolute = {
    ...rest,
    alpha: await resolve(scoring.alpha),
    ...(random && { random: { ...random, sigma: await resolve(random.sigma) } }),
  };
  checkScoring(absolute);
  return absolute;
}

/** @throws SettingsError that names the field */
export function checkScoring({ methods, schedule, alpha, random, tokur, top }: Scoring): void {
  if (methods.length === 0) throw new SettingsError('methods', `needs at least one of ${METHODS.join(', ')}`);
  checkScale('alpha', alpha, MIN_ALPHA, MAX_ALPHA);
  if (random) checkRandom(random);
  if (tokur) checkTokur(tokur);
  if (top !== undefined && !(Number.isInteger(top) && top >= 2 && top <= MAX_TOP)) {
    throw new SettingsError('top', `must be a whole number from 2 to ${MAX_TOP}`);
  }
  if (schedule.kind === 'offline') return;
  const { block, window } = schedule;
  if (!Number.isInteger(block) || block < 1) {
    throw new SettingsError('block', 'must be a whole number from 1');
  }
  if (window === 'all') return;
  if (!Number.isInteger(window)) throw new SettingsError('window', 'must be a whole number or "all"');
  if (window < block) throw new SettingsError('window', `must be at least block, which is ${block}`);
}

function checkRandom({ sigma, samples, seed }: RandomSettings): void {
  checkScale('sigma', sigma, MIN_ALPHA, MAX_ALPHA);
  if (!Number.isInteger(samples) || samples < 2 || samples > MAX_SAMPLES) {
    throw new SettingsError('samples', `must be a whole number from 2 to ${MAX_SAMPLES}`);
  }
  checkSeed('seed', seed);
}

function checkTokur({ sigma, samples, seed }: TokurSettings): void {
  checkScale('tokur.sigma', sigma, MIN_ALPHA, MAX_ALPHA);
  if (!Number.isInteger(samples) || samples < 2 || samples > MAX_TOKUR_SAMPLES) {
    throw new SettingsError('tokur.samples', `must be a whole number from 2 to ${MAX_TOKUR_SAMPLES}`);
  }
  checkSeed('tokur.seed', seed);
}

/** Noise is a function of 32 bits of it. */
function checkSeed(field: string, seed: number): void {
  if ((seed | 0) !== seed) throw new SettingsError(field, 'must be a 32-bit integer');
}

/** A relative size can only be checked for its sign until the model is known. */
function checkScale(field: string, scale: Scale, min: number, max: number): void {
  if (typeof scale !== 'number') {
    if (scale.rms > 0 && Number.isFinite(scale.rms)) return;
    throw new SettingsError(field, `must be a positive multiple of the embeddings' RMS`);
  }
  if (scale >= min && scale <= max) return;
  throw new SettingsError(field, `must be from ${min} to ${max}, not ${scale}`);
}
