import { z } from 'zod';
import { show } from '../files/file-errors.js';
import { isRecord, oneOf, parseJson } from '../files/json.js';
import { type Distribution, rankAt } from '../numerics/distribution.js';
import { STEP_RULE_VERSION } from '../steps/step-rule.js';
import { METHODS, type Method } from '../uncertainty/method-names.js';
import { type CalibrationSettings, sameSettings, settingsOf } from './calibration-settings.js';
import type { TokenDistributions } from './positions.js';
import { STATISTICS, type Statistic } from './risk.js';
import { KINDS, type TextKind } from './step-score.js';

/** Changes when older readers would misread the file. */
const FORMAT = 3;
/** Format 2 has no `statistic`: its answers are scored by `sum`. */
const READABLE = [2, FORMAT];

const size = z.number().positive();
const counter = z.int().min(0);
const window = z.union([z.int().min(1), z.literal('all')], { error: 'must be a whole number or "all"' });
const block = z.int().min(1);

const settings = z.strictObject({
  schedule: z.strictObject({ kind: oneOf(['windowed']), block, window }).optional(),
  alpha: size.optional(),
  form: oneOf(['perturb', 'derivative']).optional(),
  random: z.strictObject({ sigma: size, samples: z.int().min(2) }).optional(),
  tokur: z.strictObject({ samples: z.int().min(2), sigma: size, law: z.literal('weights') }).optional(),
});

const distribution = {
  count: z.int().min(1),
  skipped: counter,
  /** JSON has no −∞: `null` where that rank was skipped. */
  quantiles: z
    .array(z.number().nullable())
    .transform((scores) => scores.map((s) => s ?? Number.NEGATIVE_INFINITY)),
  below: z.array(counter).optional(),
};
const bin = z.strictObject({ from: counter, to: z.int().min(1).nullable(), ...distribution });
const ordinary = z.strictObject(distribution);

/** Where there are enough of a kind. */
const ofKinds = { numbers: ordinary.optional(), words: ordinary.optional(), short: ordinary.optional() };

/** Scores of steps (`stepScore`): of all, and of each kind. */
const ofSteps = z.object({ sum: ordinary, ...ofKinds });
const ofPeaks = z.object({ sum: ordinary });

/** Scores of answers: those by the statistic count, of all and of each kind. */
const ofAnswers = z.object({
  ...{ sum: ordinary.optional(), mean: ordinary.optional(), max: ordinary.optional() },
  ...ofKinds,
});

const methodScores = z.strictObject({
  tokens: ordinary,
  positions: z.array(bin),
  steps: ofSteps,
  /** How the scores of answers are made: by default `sum`. */
  statistic: z.enum(STATISTICS).optional(),
  /** Scores of whole answers, if any was ordinary. */
  answers: ofAnswers.optional(),
  /** Scores of the highest step of each of these answers. */
  peaks: ofPeaks.optional(),
  /** Scores of all answers, if not all of them are ordinary. */
  all: ofAnswers.optional(),
});

const stepRule = z.literal(STEP_RULE_VERSION, {
  error: ({ input }) => {
    const found = input === undefined ? 'but is missing' : `not ${show(input)}`;
    return `must be ${STEP_RULE_VERSION}, the version of the rule for steps, ${found}: run flinch calibrate again`;
  },
});

const calibration = z
  .strictObject({
    stepRule,
    settings,
    /** Facts about the answers, for people: nothing depends on them. */
    collected: z.strictObject({
      /** Whether every answer counts, or only right ones where that is known, or what comes before a first wrong step. */
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
    if (!isAscending(levels) || levels.at(-1) !== 1) refuse(['levels'], 'must be ascending and end with 1');
    for (const [name, scores] of entries(methods)) {
      const { tokens, positions, steps, statistic = 'sum', answers, peaks, all } = scores;
      if (Object.values(settingsOf(name, settings)).includes(undefined)) {
        refuse(['settings'], `lacks what ${name} depends on`);
      }
      const at = ['methods', name];
      check(tokens, [...at, 'tokens']);
      for (const [i, bin] of positions.entries()) {
        check(bin, [...at, 'positions', i]);
        const before = positions[i - 1];
        if (before && (before.to === null || bin.from < before.to)) {
          refuse([...at, 'positions', i, 'from'], 'lies in the previous bin');
        }
        if (bin.to !== null && bin.to <= bin.from) {
          refuse([...at, 'positions', i, 'to'], `must exceed from, which is ${bin.from}`);
        }
      }
      check(steps.sum, [...at, 'steps', 'sum']);
      for (const [name, scores] of Object.entries({ steps, answers, all })) {
        for (const kind of KINDS) if (scores?.[kind]) check(scores[kind], [...at, name, kind]);
      }
      if (peaks) check(peaks.sum, [...at, 'peaks', 'sum']);
      for (const [kind, scores] of Object.entries({ answers, all })) {
        if (!scores) continue;
        const path = [...at, kind, statistic];
        if (scores[statistic]) check(scores[statistic], path);
        else refuse(path, 'is missing, and is what statistic names');
      }
    }
    function check({ count, skipped, quantiles, below }: Distribution, path: PropertyKey[]): void {
      // This check comes before levels are used, for each of many distributions.
      if (quantiles.length !== levels.length) {
        refuse([...path, 'quantiles'], 'must have one entry for each of levels');
        return;
      }
      const ranks = levels.map((level) => rankAt(level, count));
      const isSkipped = (i: number): boolean => quantiles[i] === Number.NEGATIVE_INFINITY;
      if (skipped > count) refuse([...path, 'skipped'], `exceeds count, which is ${count}`);
      if (!isAscending(quantiles)) refuse([...path, 'quantiles'], 'must not decrease');
      else if (quantiles.some((score, i) => ranks[i] === ranks[i - 1] && score !== quantiles[i - 1])) {
        refuse([...path, 'quantiles'], `holds more different scores than there are among ${count}`);
      } else if (ranks.some((rank, i) => isSkipped(i) !== rank <= skipped)) {
        refuse([...path, 'quantiles'], 'must be null for skipped tokens, and only for these');
      }
      if (below && !fits(below, ranks, quantiles)) {
        refuse([...path, 'below'], 'must have, for each of quantiles, the number of lower scores');
      }
    }
  });

const calibrationFile = z.strictObject({
  format: z.literal(READABLE, {
    error: `must be ${READABLE.join(' or ')}; the file was made by another version of flinch: create it anew with flinch calibrate`,
  }),
  /** Fingerprint of the checkpoint. */
  model: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal digits'),
  /** The method that judges steps, where nobody says otherwise. */
  method: z.enum(METHODS).optional(),
  calibrations: z.array(calibration),
});

/** Where there are enough of a kind. */
type OfKinds = Readonly<Partial<Record<TextKind, Distribution | undefined>>>;

/** Scores of steps: of all, and of each kind. */
interface OfSteps extends OfKinds {
  readonly sum: Distribution;
}

/** Scores of answers by the method's statistic: of all, and of each kind. */
type OfAnswers = Readonly<Partial<Record<Statistic, Distribution | undefined>>> & OfKinds;

export interface MethodCalibration extends TokenDistributions {
  readonly steps: OfSteps;
  /** How the scores of answers are made: by default `sum`. */
  readonly statistic?: Statistic | undefined;
  /** Scores of answers that are entirely ordinary; absent if there are none. */
  readonly answers?: OfAnswers | undefined;
  /** Scores of the highest step of each of these answers. */
  readonly peaks?: Pick<OfSteps, 'sum'> | undefined;
  /** Scores of all answers, if not all of them are ordinary. */
  readonly all?: OfAnswers | undefined;
}

/** Ordinary scores under one choice of settings. */
export interface Calibration {
  /** Version of the rule by which steps were found. */
  readonly stepRule: typeof STEP_RULE_VERSION;
  readonly settings: CalibrationSettings;
  readonly collected: Readonly<z.output<typeof calibration>['collected']>;
  /** The levels of all quantiles in it. */
  readonly levels: readonly number[];
  readonly methods: Readonly<Partial<Record<Method, MethodCalibration>>>;
}

/** `calibration.json`, which lies beside the weights of a model. */
export interface CalibrationFile {
  readonly format: number;
  readonly model: string;
  /** The method that judges steps, where nobody says otherwise. */
  readonly method?: Method | undefined;
  readonly calibrations: readonly Calibration[];
}

/** @throws ModelError that names file and field */
export const parseCalibration = (json: unknown, file: string): CalibrationFile =>
  parseJson(calibrationFile, json, file);

/** The JSON of a file without calibrations of another rule for steps: nothing can be read of them. */
export function withoutOtherRules(json: unknown): unknown {
  if (!isRecord(json) || !Array.isArray(json.calibrations)) return json;
  const calibrations = json.calibrations.filter(
    (made) => !isRecord(made) || made.stepRule === STEP_RULE_VERSION,
  );
  return { ...json, calibrations };
}

/**
 * The file with a calibration in it, in place of the same methods under the same settings, or of all for another model.
 * What was collected before for other methods stays.
 * @param method the one that judges; by default what the file says
 */
export function withCalibration(
  file: CalibrationFile | null,
  model: string,
  added: Calibration,
  method?: Method,
): CalibrationFile {
  const same = file?.model === model ? file : null;
  const old = same?.calibrations ?? [];
  const kept = old.map((calibration) =>
    sameSettings(calibration.settings, added.settings) ? without(calibration, added.methods) : calibration,
  );
  const calibrations = [...kept.filter(({ methods }) => entries(methods).length > 0), added];
  const judge = method ?? same?.method;
  return { format: FORMAT, model, ...(judge && { method: judge }), calibrations };
}

/** Whether something that another calibration would replace is of as many answers, or more. */
export const isOfMore = (file: CalibrationFile | null, model: string, added: Calibration): boolean =>
  file?.model === model &&
  file.calibrations.some(
    ({ settings, methods, collected }) =>
      sameSettings(settings, added.settings) &&
      collected.responses >= added.collected.responses &&
      entries(methods).some(([method]) => added.methods[method]),
  );

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

/** Whether as many scores may be lower than each quantile: those of the one before at least, unless it is the same. */
const fits = (below: readonly number[], ranks: readonly number[], quantiles: readonly number[]): boolean =>
  below.length === quantiles.length &&
  isAscending(below) &&
  below.every(
    (count, i) => count < ranks[i]! && (quantiles[i - 1] === quantiles[i] || count >= (ranks[i - 1] ?? 0)),
  );
