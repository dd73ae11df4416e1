import { isDeepStrictEqual } from 'node:util';
import type { TokurSettings } from '../numerics/tokur-noise.js';
import { type Method, TOKUR_METHODS } from '../uncertainty/method-names.js';
import type { Schedule } from '../uncertainty/schedule.js';
import { type AbsoluteScoring, DEFAULT_RANDOM, DEFAULT_TOKUR } from '../uncertainty/settings.js';

/** Settings that the scores of a calibration depend on; only those that its methods use are present. */
export interface CalibrationSettings {
  readonly schedule?: Schedule | undefined;
  readonly alpha?: number | undefined;
  readonly form?: 'perturb' | 'derivative' | undefined;
  readonly random?: { readonly sigma: number; readonly samples: number } | undefined;
  readonly tokur?: (Omit<TokurSettings, 'seed'> & { readonly law: 'weights' }) | undefined;
}

/**
 * The settings that scores of the methods depend on. Probabilities depend on none; seeds are left out, as scores have
 * the same distribution under each.
 */
export function calibrationSettings(
  scoring: AbsoluteScoring,
  methods: readonly Method[],
): CalibrationSettings {
  const { schedule, alpha, form = 'perturb', random = DEFAULT_RANDOM, tokur = DEFAULT_TOKUR } = scoring;
  const uses = (...users: readonly Method[]): boolean => methods.some((method) => users.includes(method));
  return {
    ...(uses('adversarial') && { schedule, alpha }),
    ...(uses('adversarial', 'random') && { form: uses('adversarial') ? form : 'perturb' }),
    ...(uses('random') && { random: { sigma: random.sigma, samples: random.samples } }),
    ...(uses(...TOKUR_METHODS) && {
      tokur: { samples: tokur.samples, sigma: tokur.sigma, law: 'weights' },
    }),
  };
}

/** The settings that a method depends on, by the names that options have; empty for the probabilities. */
export function settingsOf(
  method: Method,
  { schedule, alpha, form, random, tokur }: CalibrationSettings,
): Readonly<Record<string, unknown>> {
  const ofTokur: readonly Method[] = TOKUR_METHODS;
  if (method === 'adversarial') {
    const { kind, ...rest } = schedule ?? { kind: undefined };
    return { schedule: kind, ...rest, alpha, form };
  }
  if (method === 'random') return { sigma: random?.sigma, samples: random?.samples };
  if (!ofTokur.includes(method)) return {};
  return { 'tokur-sigma': tokur?.sigma, 'tokur-samples': tokur?.samples };
}

/** `alpha 0.001, not 0.0001` for each setting of the method that differs; empty where scores are comparable. */
export function differences(method: Method, made: CalibrationSettings, used: CalibrationSettings): string[] {
  const [before, now] = [settingsOf(method, made), settingsOf(method, used)];
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names]
    .filter((name) => before[name] !== now[name])
    .map((name) => `${name} ${before[name] ?? 'unset'}, not ${now[name] ?? 'unset'}`);
}

export const sameSettings = (a: CalibrationSettings, b: CalibrationSettings): boolean =>
  isDeepStrictEqual(plain(a), plain(b));

/** Removes settings that are not set: a field that is `undefined` counts as one that is missing. */
const plain = (settings: CalibrationSettings): unknown => JSON.parse(JSON.stringify(settings));
