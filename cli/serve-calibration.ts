import type { Logger } from 'pino';
import { filter, firstValueFrom, fromEvent, interval, lastValueFrom, merge, takeUntil } from 'rxjs';
import type { Workers } from '../gateway/workers/start-workers.js';
import type { Engine } from '../src/engine/engine.js';
import { everydayPromptsPath } from '../src/package-root.js';
import { calibrationFileOf, calibrationOf } from '../src/risk/calibration-file.js';
import { type CollectedAnswer, collectScores } from '../src/stream/collect-scores.js';
import { DEFAULT_METHODS } from '../src/uncertainty/method-names.js';
import { scoringOf } from '../src/uncertainty/scoring-fields.js';
import { type AbsoluteScoring, absoluteScoring } from '../src/uncertainty/settings.js';
import { readPrompts } from './calibrate-prompts.js';
import { CalibrationRun } from './calibration-run.js';
import { writableFolder } from './option-file.js';
import type { ServeConfig } from './serve-config.js';
import { guardOfModel } from './serve-hints.js';

const MAX_TOKENS = 512;
const LOOK_MS = 50;
/** Answers after which the calibration is written, and what there is of it holds. */
const WRITTEN_EVERY = 40;
const LOGGED_EVERY = 10;

/** A model that is calibrated while nothing else uses it. */
interface Uncalibrated {
  readonly name: string;
  readonly engine: Engine;
  readonly scoring: AbsoluteScoring;
  readonly run: CalibrationRun;
}

/**
 * The models that `flinch serve --calibrate` is for: those that the gateway writes with, and that have no calibration or an
 * unfinished one.
 * @throws UsageError for a folder that cannot be written to
 */
export async function modelsToCalibrate(
  config: ServeConfig,
  engines: Workers['engines'],
): Promise<Uncalibrated[]> {
  const found: Uncalibrated[] = [];
  for (const [name, engine] of engines) {
    const { checkpoint } = engine;
    if (!('checkpoint' in config.models[name]!)) continue;
    // A file that somebody named, or put there for another model, is not replaced.
    if (checkpoint.calibrationFile !== undefined) continue;
    const kept = await calibrationOf(checkpoint);
    const { methods = DEFAULT_METHODS, scoring: fields } = guardOfModel(config, name);
    const scoring = await absoluteScoring(scoringOf(methods, fields), checkpoint.embeddingRms);
    const file = calibrationFileOf(checkpoint);
    const run = await openRun(engine, scoring, file);
    const isUnfinished = run.answered > 0 && run.missing.length > 0;
    if (kept !== null && !(kept.model === run.model && isUnfinished)) continue;
    await writableFolder('--calibrate', file);
    found.push({ name, engine, scoring, run });
  }
  return found;
}

interface CalibratingOptions {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Answers so far, and of how many. */
  readonly onProgress?: (model: string, collected: number, planned: number) => void;
}

/**
 * Calibrates one model after the other with the everyday prompts that come with flinch. It writes one answer at a time,
 * and gives it up when a request comes. The gateway takes over what is written.
 */
export async function calibrateWhenIdle(
  models: readonly Uncalibrated[],
  options: CalibratingOptions,
): Promise<void> {
  const { logger, signal } = options;
  for (const model of models) {
    try {
      await calibrateModel(model, options);
    } catch (error) {
      if (!signal.aborted) logger.error({ model: model.name, err: error }, 'not calibrated');
    }
  }
}

/** With what a server that was stopped has left. */
export async function openRun(
  engine: Engine,
  scoring: AbsoluteScoring,
  file: string,
): Promise<CalibrationRun> {
  const all = await readPrompts(everydayPromptsPath, engine.checkpoint, Number.POSITIVE_INFINITY);
  const prompts = all.filter(({ promptIds }) => promptIds.length < engine.contextLength);
  const plan = { engine, scoring, prompts, answers: 'all', file, seed: 0, maxTokens: MAX_TOKENS } as const;
  return CalibrationRun.open(plan);
}

async function calibrateModel(
  { name, engine, scoring, run }: Uncalibrated,
  { logger, signal, onProgress }: CalibratingOptions,
): Promise<void> {
  const of = run.requests.length;
  const say = (text: string): void => logger.info({ model: name, answers: run.answered, of }, text);
  say('calibrating while idle');
  onProgress?.(name, run.answered, of);
  for (const index of run.missing) {
    const answer = await answerWhenIdle(run.requests[index]!, engine, scoring, signal);
    if (!answer) return;
    run.add(index, answer);
    onProgress?.(name, run.answered, of);
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
