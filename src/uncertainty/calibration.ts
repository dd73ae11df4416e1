import { z } from 'zod';
import { oneOf, parseJson } from '../model/json.js';
import { type CalibrationSettings, sameSettings, settingsOf } from './calibration-settings.js';
import type { Distribution } from './distribution.js';
import { METHODS, type Method } from './method.js';
import type { TokenDistributions } from './positions.js';
import type { Statistic } from './risk.js';
import { TOKUR_LAWS } from './settings.js';

/** Changes when older readers would misread the file. */
const FORMAT = 1;

const size = z.number().positive();
const counter = z.int().min(0);
const window = z.union([z.int().min(1), z.literal('all')], { error: 'must be a whole number or "all"' });
const block = z.int().min(1);

const settings = z.strictObject({
  schedule: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('windowed'), block, window }),
      z.strictObject({ kind: z.literal('lazy'), block, window, epsilon: z.number().min(0).lt(1) }),
    ])
    .optional(),
  alpha: size.optional(),
  form: oneOf(['perturb', 'derivative']).optional(),
  random: z.strictObject({ sigma: size, samples: z.int().min(2) }).optional(),
  tokur: z.strictObject({ samples: z.int().min(2), sigma: size, law: oneOf(TOKUR_LAWS) }).optional(),
});

const distribution = {
  count: z.int().min(1),
  skipped: counter,
  /** JSON has no −∞: `null` where that rank was skipped. */
  quantiles: z
    .array(z.number().nullable())
    .transform((scores) => scores.map((s) => s ?? Number.NEGATIVE_INFINITY)),
};
const bin = z.strictObject({ from: counter, to: z.int().min(1).nullable(), ...distribution });
const ordinary = z.strictObject(distribution);

const methodScores = z.strictObject({
  tokens: ordinary,
  positions: z.array(bin),
  steps: z.strictObject({ max: ordinary, mean: ordinary }),
});

const calibration = z
  .strictObject({
    settings,
    /** Facts about the answers, for people: nothing depends on them. */
    collected: z.strictObject({
      /** Whether all of each answer counts, or what comes before its first wrong step. */
      answers: oneOf(['all', 'right']),
      responses: z.int().min(1),
      tokens: z.int().min(1),
      steps: z.int().min(1),
      temperature: z.number().min(0),
      topK: counter,
      topP: z.number().gt(0).max(1),
      seed: z.int(),
    }),
    levels: z.array(z.number().min(0).max(1)).min(2),
    methods: z.partialRecord(z.enum(METHODS), methodScores),
  })
  .superRefine(({ settings, levels, methods }, context) => {
    const refuse = (path: PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    if (!isAscending(levels) || levels.at(-1) !== 1) refuse(['levels'], 'must ascend to 1');
    for (const [name, { tokens, positions, steps }] of entries(methods)) {
      if (Object.values(settingsOf(name, settings)).includes(undefined)) {
        refuse(['settings'], `lacks what ${name} depends on`);
      }
      const at = ['methods', name];
      check(tokens, [...at, 'tokens']);
      for (const [i, bin] of positions.entries()) check(bin, [...at, 'positions', i]);
      check(steps.max, [...at, 'steps', 'max']);
      check(steps.mean, [...at, 'steps', 'mean']);
    }
    function check({ count, skipped, quantiles }: Distribution, path: PropertyKey[]): void {
      if (skipped > count) refuse([...path, 'skipped'], `exceeds count, which is ${count}`);
      if (quantiles.length !== levels.length) refuse([...path, 'quantiles'], 'needs one for each of levels');
      if (!isAscending(quantiles)) refuse([...path, 'quantiles'], 'must not fall');
    }
  });

const calibrationFile = z.strictObject({
  format: z.literal(FORMAT, { error: `must be ${FORMAT}: the file is of another version of flinch` }),
  /** Fingerprint of the checkpoint. */
  model: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal digits'),
  calibrations: z.array(calibration),
});

export interface MethodCalibration extends TokenDistributions {
  readonly steps: Readonly<Record<Statistic, Distribution>>;
}

/** Ordinary scores under one choice of settings. */
export interface Calibration {
  readonly settings: CalibrationSettings;
  readonly collected: Readonly<z.output<typeof calibration>['collected']>;
  /** The levels of all quantiles in it. */
  readonly levels: readonly number[];
  readonly methods: Readonly<Partial<Record<Method, MethodCalibration>>>;
}

/** `calibration.json`, which lies beside the weights of a model. */
export interface CalibrationFile {
  readonly format: typeof FORMAT;
  readonly model: string;
  readonly calibrations: readonly Calibration[];
}

/** @throws ModelError that names file and field */
export const parseCalibration = (json: unknown, file: string): CalibrationFile =>
  parseJson(calibrationFile, json, file);

/**
 * The file with a calibration in it, in place of the same methods under the same settings, or of all for another model.
 * What was collected before for other methods stays.
 */
export function withCalibration(
  file: CalibrationFile | null,
  model: string,
  added: Calibration,
): CalibrationFile {
  const old = file?.model === model ? file.calibrations : [];
  const kept = old.map((calibration) =>
    sameSettings(calibration.settings, added.settings) ? without(calibration, added.methods) : calibration,
  );
  const calibrations = [...kept.filter(({ methods }) => entries(methods).length > 0), added];
  return { format: FORMAT, model, calibrations };
}

function without(calibration: Calibration, replaced: Calibration['methods']): Calibration {
  const methods = entries(calibration.methods).filter(([method]) => !replaced[method]);
  return { ...calibration, methods: Object.fromEntries(methods) };
}

function entries<T>(methods: Readonly<Partial<Record<Method, T>>>): [Method, T][] {
  return METHODS.flatMap((method): [Method, T][] => {
    const value = methods[method];
    return value === undefined ? [] : [[method, value]];
  });
}

const isAscending = (values: readonly number[]): boolean =>
  values.every((value, i) => i === 0 || value >= values[i - 1]!);
