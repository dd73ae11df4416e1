import { fingerprint } from '../../src/checkpoint/fingerprint.js';
import type { Engine } from '../../src/engine/engine.js';
import type { CompleteRequest } from '../../src/engine/generation.js';
import { samplingDefaults } from '../../src/engine/sampler.js';
import {
  type Calibration,
  type CalibrationFile,
  isOfMore,
  withCalibration,
} from '../../src/risk/calibration.js';
import { readKeptCalibration, writeCalibration } from '../../src/risk/calibration-file.js';
import { calibrationSettings } from '../../src/risk/calibration-settings.js';
import { MIN_STEPS, MIN_TOKENS } from '../../src/risk/running-risk.js';
import { ScoreCollector, type ScoredAnswer } from '../../src/risk/score-collector.js';
import { STEP_RULE_VERSION } from '../../src/steps/step-rule.js';
import type { CollectedAnswer } from '../../src/stream/collect-scores.js';
import type { Method } from '../../src/uncertainty/method-names.js';
import type { AbsoluteScoring } from '../../src/uncertainty/settings.js';
import { CalibrationLog } from './calibrate-log.js';
import type { CalibrationPrompt } from './calibrate-prompts.js';

export interface Answering {
  readonly temperature?: number | undefined;
  /** Of the first answer; each of the others has the next number. */
  readonly seed: number;
  readonly maxTokens: number;
}

/** A request for each prompt. */
export const requestsOf = (
  engine: Engine,
  prompts: readonly Pick<CalibrationPrompt, 'promptIds'>[],
  { temperature, seed, maxTokens }: Answering,
): CompleteRequest[] =>
  prompts.map(({ promptIds }, i) =>
    engine.complete({
      promptIds,
      maxTokens: Math.min(maxTokens, engine.contextLength - promptIds.length),
      sampling: { temperature, seed: (seed + i) | 0 },
    }),
  );

export interface RunPlan extends Answering {
  readonly engine: Engine;
  readonly scoring: AbsoluteScoring;
  readonly prompts: readonly CalibrationPrompt[];
  /** Place of the calibration. */
  readonly file: string;
}

/** A calibration that is collected answer by answer. The next run with the same settings uses what one has left. */
export class CalibrationRun {
  readonly requests: readonly CompleteRequest[];
  readonly model: string;
  readonly #plan: RunPlan;
  readonly #log: CalibrationLog;
  readonly #collector: ScoreCollector;
  readonly #missing = new Set<number>();
  #wrong = 0;

  private constructor(
    plan: RunPlan,
    { model, log, requests }: { model: string; log: CalibrationLog; requests: readonly CompleteRequest[] },
  ) {
    this.#plan = plan;
    this.#log = log;
    this.model = model;
    this.requests = requests;
    this.#collector = new ScoreCollector(plan.scoring.methods);
    for (const [i, request] of requests.entries()) {
      const known = log.get(request);
      if (known) this.#collect(i, known);
      else this.#missing.add(i);
    }
  }

  static async open(plan: RunPlan): Promise<CalibrationRun> {
    const { engine, scoring, prompts, maxTokens, file } = plan;
    const { methods } = scoring;
    const model = await fingerprint(engine.checkpoint);
    const log = await CalibrationLog.open(file, {
      model,
      ...calibrationSettings(scoring, methods),
      methods,
      ...samplingOf(plan),
      maxTokens,
      stepRule: STEP_RULE_VERSION,
    });
    return new CalibrationRun(plan, { model, log, requests: requestsOf(engine, prompts, plan) });
  }

  /** File of the answers so far. */
  get logFile(): string {
    return this.#log.file;
  }

  /** Requests without an answer, by their indices. */
  get missing(): number[] {
    return [...this.#missing];
  }

  get answered(): number {
    return this.requests.length - this.#missing.size;
  }

  get counts(): ScoreCollector['counts'] {
    return this.#collector.counts;
  }

  /** Whether there are enough scores for a calibration. */
  get isEnough(): boolean {
    const { tokens, steps } = this.counts;
    return tokens >= MIN_TOKENS && steps >= MIN_STEPS;
  }

  add(index: number, answer: CollectedAnswer): void {
    this.#collect(index, answer);
    this.#log.add(this.requests[index]!, answer);
    this.#missing.delete(index);
  }

  /** Of a wrong answer nothing is ordinary. */
  #collect(index: number, answer: ScoredAnswer): void {
    const isOrdinary = this.#plan.prompts[index]!.isOrdinary(textOf(answer));
    this.#collector.add(answer, isOrdinary ? answer.steps.length : 0);
    if (!isOrdinary) this.#wrong += 1;
  }

  /**
   * Writes the calibration of the answers so far, unless it would replace one of more answers. What else the file has stays.
   * @param method the one that judges; by default what the file says
   * @returns the file, whose last calibration is new; `null` if it was not written
   */
  async write(method?: Method): Promise<CalibrationFile | null> {
    const { file } = this.#plan;
    const calibration = this.#calibration();
    const before: CalibrationFile | null = await readKeptCalibration(file);
    const isWhole = this.#missing.size === 0;
    if (!isWhole && isOfMore(before, this.model, calibration)) return null;
    const written = withCalibration(before, this.model, calibration, method);
    await writeCalibration(file, written);
    if (isWhole) await this.#log.remove();
    return written;
  }

  #calibration(): Calibration {
    const { scoring, seed } = this.#plan;
    return {
      stepRule: STEP_RULE_VERSION,
      settings: calibrationSettings(scoring, scoring.methods),
      collected: {
        answers: this.#wrong > 0 ? 'right' : 'all',
        ...this.counts,
        ...samplingOf(this.#plan),
        seed,
      },
      ...this.#collector.distributions(),
    };
  }
}

export const textOf = ({ tokens }: Pick<ScoredAnswer, 'tokens'>): string =>
  tokens.map(({ text }) => text).join('');

function samplingOf({ engine, temperature }: RunPlan) {
  const { topK, topP, temperature: own } = samplingDefaults(engine.checkpoint.generation);
  return { temperature: temperature ?? own, topK, topP };
}
