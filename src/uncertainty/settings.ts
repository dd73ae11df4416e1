import { METHODS, type Method } from './method.js';
import type { Schedule } from './schedule.js';

/** What is computed for each token, and how. */
export interface Scoring {
  readonly methods: readonly Method[];
  readonly schedule: Schedule;
  readonly alpha: number;
}

/** Step of the adversary on every entry of an embedding (arXiv 2602.02427, its default). */
export const DEFAULT_ALPHA = 1e-4;

/** Below this most steps vanish in the rounding of fp32 embeddings, and every token would look certain. */
export const MIN_ALPHA = 1e-6;
export const MAX_ALPHA = 1;

export const DEFAULT_BLOCK = 8;
export const DEFAULT_WINDOW = 64;

export const DEFAULT_SCORING: Scoring = {
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

/** @throws SettingsError that names the field */
export function checkScoring({ methods, schedule, alpha }: Scoring): void {
  if (methods.length === 0) throw new SettingsError('methods', `needs at least one of ${METHODS.join(', ')}`);
  if (!(alpha >= MIN_ALPHA && alpha <= MAX_ALPHA)) {
    throw new SettingsError('alpha', `must be from ${MIN_ALPHA} to ${MAX_ALPHA}`);
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
