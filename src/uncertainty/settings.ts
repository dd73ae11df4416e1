import { METHODS, type Method } from './method.js';
import type { Schedule } from './schedule.js';

/** A size in the unit of the embeddings, or a multiple of their root mean square. */
export type Scale = number | { readonly rms: number };

/** What is computed for each token, and how. */
export interface Scoring {
  readonly methods: readonly Method[];
  readonly schedule: Schedule;
  readonly alpha: Scale;
}

/** As it runs and as outputs report it. */
export interface AbsoluteScoring extends Scoring {
  readonly alpha: number;
}

/** Step of the adversary on every entry of an embedding (arXiv 2602.02427, its default). */
export const DEFAULT_ALPHA = 1e-4;

/** Below this most steps vanish in the rounding of fp32 embeddings, and every token would look certain. */
export const MIN_ALPHA = 1e-6;
export const MAX_ALPHA = 1;

export const DEFAULT_BLOCK = 8;
export const DEFAULT_WINDOW = 64;

export const DEFAULT_SCORING: AbsoluteScoring = {
  methods: METHODS,
  schedule: { kind: 'windowed', block: DEFAULT_BLOCK, window: DEFAULT_WINDOW },
  alpha: DEFAULT_ALPHA,
};

/** Settings under which no score would mean anything. */
export class SettingsError extends RangeError {
  readonly type = 'settings';
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.name = 'SettingsError';
    this.field = field;
  }
}

/** Reads `1e-4` or `0.005rms`; `null` for what is neither. */
export function parseScale(text: string): Scale | null {
  const relative = text.endsWith('rms');
  const number = relative ? text.slice(0, -3) : text;
  const value = number.trim() === '' ? Number.NaN : Number(number);
  if (!Number.isFinite(value)) return null;
  return relative ? { rms: value } : value;
}

/**
 * The same settings with every size absolute.
 * @param rms of the model's embeddings; asked only where a size is relative
 * @throws SettingsError that names the field, also for a size that is out of range once it is known; what `rms` throws
 */
export async function absoluteScoring(
  scoring: Scoring,
  rms: () => Promise<number>,
): Promise<AbsoluteScoring> {
  checkScoring(scoring);
  const { alpha } = scoring;
  if (typeof alpha === 'number') return { ...scoring, alpha };
  const absolute = { ...scoring, alpha: alpha.rms * (await rms()) };
  checkScoring(absolute);
  return absolute;
}

/** @throws SettingsError that names the field */
export function checkScoring({ methods, schedule, alpha }: Scoring): void {
  if (methods.length === 0) throw new SettingsError('methods', `needs at least one of ${METHODS.join(', ')}`);
  checkScale('alpha', alpha, MIN_ALPHA, MAX_ALPHA);
  if (schedule.kind === 'offline') return;
  const { block, window } = schedule;
  if (!Number.isInteger(block) || block < 1) {
    throw new SettingsError('block', 'must be a whole number from 1');
  }
  if (window === 'all') return;
  if (!Number.isInteger(window)) throw new SettingsError('window', 'must be a whole number or "all"');
  if (window < block) throw new SettingsError('window', `must be at least block, which is ${block}`);
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
