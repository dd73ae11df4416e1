import type { Logger } from 'pino';
import { filter, firstValueFrom, fromEvent, interval, lastValueFrom, merge, takeUntil } from 'rxjs';
import { isLoopback } from '../../gateway/access/addresses.js';
import type { IdleCalibration, IdleCalibrations, Metrics } from '../../gateway/index.js';
import type { Workers } from '../../gateway/workers/start-workers.js';
import type { Engine } from '../../src/engine/engine.js';
import { calibrationPromptsPath } from '../../src/package-root.js';
import { calibrationFileOf, calibrationOf } from '../../src/risk/calibration-file.js';
import { type CollectedAnswer, collectScores } from '../../src/stream/collect-scores.js';
import { DEFAULT_METHODS } from '../../src/uncertainty/method-names.js';
import { scoringOf } from '../../src/uncertainty/scoring-fields.js';
import { type AbsoluteScoring, absoluteScoring } from '../../src/uncertainty/settings.js';
import { readPrompts } from '../calibrate/calibrate-prompts.js';
import { CalibrationRun } from '../calibrate/calibration-run.js';
import { writableFolder } from '../option-file.js';
import type { ServeConfig } from './serve-config.js';
import { guardOfModel } from './serve-hints.js';

const MAX_TOKENS = 512;
const LOOK_MS = 50;
/** Answers after which the calibration is written, and what there is of it holds. */
const WRITTEN_EVERY = 40;
const LOGGED_EVERY = 10;

interface MissingRun {
  readonly scoring: AbsoluteScoring;
  readonly run: CalibrationRun;
}

/** A model that is calibrated while nothing else uses it. */
interface Uncalibrated {
  readonly name: string;
  readonly engine: Engine;
  readonly counts: Pick<IdleCalibration, 'collected' | 'planned'>;
  /** Opens the calibration when it begins; `null` where somebody has made one meanwhile. */
  readonly open: () => Promise<MissingRun | null>;
}

const countsOf = ({ answered, requests }: CalibrationRun): Uncalibrated['counts'] => ({
  collected: answered,
  planned: requests.length,
});

/**
 * The models that can be calibrated while they are served: those that the gateway writes with, and that have no calibration
 * or an unfinished one.
 * @param byOption whether `--calibrate` asks for all of them; else they are those that the page may offer, to whoever is at
 *   this machine
 * @throws UsageError for a model that cannot be calibrated, by `--calibrate`
 */
export async function modelsToCalibrate(
  config: ServeConfig,
  engines: Workers['engines'],
  logger: Logger,
  byOption: boolean,
): Promise<Uncalibrated[]> {
  const { listen, access, workers } = config;
  if (workers > 1) return []; // each process would see its own requests alone
  if (!byOption && !(isLoopback(listen.host) && access.keys.length === 0)) return [];
  const found: Uncalibrated[] = [];
  for (const [name, engine] of engines) {
    if (!('checkpoint' in config.models[name]!)) continue;
    const open = () => missingRun(engine, guardOfModel(config, name));
    try {
      const missing = await open();
      if (missing) found.push({ name, engine, counts: countsOf(missing.run), open });
    } catch (error) {
      if (byOption) throw error;
      logger.debug({ model: name, err: error }, 'cannot be calibrated');
    }
  }
  return found;
}

/**
 * `null` for a model that needs none.
 * @throws UsageError for a folder that cannot be written to, and for answers of an earlier run that cannot be read
 */
async function missingRun(
  engine: Engine,
  guard: ReturnType<typeof guardOfModel>,
): Promise<MissingRun | null> {
  const { checkpoint } = engine;
  const { methods = DEFAULT_METHODS, scoring: fields } = guard;
  // A file that somebody named, or put there for another model, is not replaced.
  if (checkpoint.calibrationFile !== undefined) return null;
  const kept = await calibrationOf(checkpoint);
  const scoring = await absoluteScoring(scoringOf(methods, fields), checkpoint.embeddingRms);
  const file = calibrationFileOf(checkpoint);
  const run = await openRun(engine, scoring, file);
  const isUnfinished = run.answered > 0 && run.missing.length > 0;
  if (kept !== null && !(kept.model === run.model && isUnfinished)) return null;
  await writableFolder('--calibrate', file);
  return { scoring, run };
}

interface CalibratingOptions {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Told how far each calibration is, and asked which is to be made. */
  readonly calibrations: IdleCalibrations;
  readonly metrics: Pick<Metrics, 'calibrating'>;
}

/**
 * Offers to calibrate models with the prompts that come with flinch, one after the other as they are asked for. One
 * answer is written at a time, and given up when a request comes. The gateway takes over what is written.
 */
export function offerCalibrations(models: readonly Uncalibrated[], options: CalibratingOptions): void {
  const { logger, signal, calibrations } = options;
  let before = Promise.resolve();
  const calibrate = async (model: Uncalibrated): Promise<void> => {
    const { name, engine, open } = model;
    try {
      const missing = await open();
      if (missing) await calibrateModel(name, engine, missing, options);
    } catch (error) {
      if (!signal.aborted) logger.error({ model: name, err: error }, 'not calibrated');
    }
    calibrations.end(name);
  };
  for (const model of models) {
    calibrations.offer(model.name, model.counts, () => {
      before = before.then(() => calibrate(model));
    });
  }
}

/** With what a server that was stopped has left. */
export async function openRun(
  engine: Engine,
  scoring: AbsoluteScoring,
  file: string,
): Promise<CalibrationRun> {
  const all = await readPrompts(calibrationPromptsPath, engine.checkpoint);
  const prompts = all.filter(({ promptIds }) => promptIds.length < engine.contextLength);
  const plan = { engine, scoring, prompts, file, seed: 0, maxTokens: MAX_TOKENS };
  return CalibrationRun.open(plan);
}

async function calibrateModel(
  name: string,
  engine: Engine,
  { scoring, run }: MissingRun,
  { logger, signal, calibrations, metrics }: CalibratingOptions,
): Promise<void> {
  const of = run.requests.length;
  const say = (text: string): void => logger.info({ model: name, answers: run.answered, of }, text);
  const count = (): void => {
    calibrations.collected(name, run.answered);
    metrics.calibrating(name, run.answered, of);
  };
  say('calibrating while idle');
  count();
  for (const index of run.missing) {
    const answer = await answerWhenIdle(run.requests[index]!, engine, scoring, signal);
    if (!answer) return;
    run.add(index, answer);
    count();
    if (run.isEnough && run.answered % WRITTEN_EVERY === 0) await run.write();
    if (run.answered % LOGGED_EVERY === 0) say('calibrating while idle');
  }
  if (run.isEnough) {
    await run.write();
    say('calibrated');
  } else logger.warn({ model: name, ...run.counts }, 'not calibrated: too few scores');
}

/** @returns `null` when the signal is aborted */
async function answerWhenIdle(
  request: CalibrationRun['requests'][number],
  engine: Engine,
  scoring: AbsoluteScoring,
  signal: AbortSignal,
): Promise<CollectedAnswer | null> {
  const streams = (): number => engine.status().streams;
  const aborted = fromEvent(signal, 'abort');
  const looks = interval(LOOK_MS);
  for (;;) {
    if (streams() > 0) await firstValueFrom(merge(looks.pipe(filter(() => streams() === 0)), aborted));
    if (signal.aborted) return null;
    const busy = looks.pipe(filter(() => streams() > 1));
    const answer = collectScores(engine, [request], scoring).pipe(takeUntil(merge(busy, aborted)));
    const collected = await lastValueFrom(answer, { defaultValue: null });
    if (collected) return collected;
  }
}
