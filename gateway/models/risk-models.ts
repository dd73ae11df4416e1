import type { Logger } from 'pino';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { reasonOf } from '../../src/files/file-errors.js';
import type { GuardFields } from '../../src/guard/guard-fields.js';
import type { CalibrationFile } from '../../src/risk/calibration.js';
import { calibrationOf, calibrationVersion, judgeOf } from '../../src/risk/calibration-file.js';
import { calibrationSettings } from '../../src/risk/calibration-settings.js';
import type { RiskModel } from '../../src/risk/risk.js';
import { type RatedBy, riskModel } from '../../src/risk/risk-model.js';
import { RunningRisk } from '../../src/risk/running-risk.js';
import { METHODS, type Method } from '../../src/uncertainty/method-names.js';
import { scoringOf } from '../../src/uncertainty/scoring-fields.js';
import { type AbsoluteScoring, absoluteScoring, DEFAULT_RANDOM } from '../../src/uncertainty/settings.js';
import type { Asked } from '../answers/asked.js';
import { PerClient } from '../answers/per-client.js';
import type { Judge } from '../answers/served-model.js';
import { completeGuard } from '../requests/guard-limits.js';

/** Maximum settings with a risk model that is kept. */
const REMEMBERED = 32;

/** How often a calibration that was written anew is looked for, at most. */
const LOOK_MS = 1000;

/** Rates the scores of one model: a calibration for all, else an estimate for each client and its settings. */
export class RiskModels implements Judge {
  readonly #checkpoint: Checkpoint;
  readonly #logger: Logger;
  #file: CalibrationFile | null = null;
  #judge: Method | undefined;
  #version: string | null = null;
  #looked = 0;
  /** Warnings that were logged; rates do not count into them, so there are only a few. */
  readonly #warned = new Set<string>();
  /** Risk models by settings, the least recently used first. */
  readonly #known = new Map<string, Promise<RatedBy>>();
  readonly #estimates = new PerClient(() => new RunningRisk());

  private constructor(checkpoint: Checkpoint, logger: Logger) {
    this.#checkpoint = checkpoint;
    this.#logger = logger;
  }

  /**
   * Reads the calibration beside the model, or the one that comes with flinch for it, if there is one.
   * @throws ModelError that names file and field
   */
  static async open(checkpoint: Checkpoint, logger: Logger): Promise<RiskModels> {
    const models = new RiskModels(checkpoint, logger);
    models.#version = await calibrationVersion(checkpoint);
    await models.#read();
    return models;
  }

  /** The method that the model's calibration names to judge by, if any. */
  get judge(): Method | undefined {
    return this.#judge;
  }

  /** Takes over a calibration that was written since; for one that cannot be read, the one before holds. */
  async refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#looked < LOOK_MS) return;
    this.#looked = now;
    const version = await calibrationVersion(this.#checkpoint);
    if (version === this.#version) return;
    this.#version = version;
    const about = { model: this.#checkpoint.name };
    try {
      await this.#read();
      this.#logger.info(about, 'calibration taken over');
    } catch (error) {
      this.#logger.error({ ...about, reason: reasonOf(error) }, 'calibration refused; the one before holds');
    }
  }

  async settle(asked: GuardFields) {
    await this.refresh();
    // Without a guard its other fields are ignored.
    const { method: _, ...ignored } = asked;
    const fields = completeGuard(asked.enabled ? asked : ignored, METHODS, this.#judge);
    const scoring = await absoluteScoring(
      scoringOf(fields.methods, fields.scoring),
      this.#checkpoint.embeddingRms,
    );
    const { alpha, random = DEFAULT_RANDOM } = scoring;
    return { settings: { ...fields, scoring: { ...fields.scoring, alpha, sigma: random.sigma } }, scoring };
  }

  /** @throws ModelError where the model's files cannot be read any more */
  async rate(
    scoring: AbsoluteScoring,
    { client, further = false }: Pick<Asked, 'client' | 'further'>,
  ): Promise<{ risks: RiskModel; warnings: readonly string[] }> {
    const methods = scoring.methods.toSorted();
    const key = JSON.stringify([methods, calibrationSettings(scoring, methods)]);
    const known = this.#known.get(key) ?? this.#make(key, scoring);
    this.#known.delete(key);
    this.#known.set(key, known);
    const oldest = this.#known.size > REMEMBERED ? this.#known.keys().next() : null;
    if (oldest && !oldest.done) this.#known.delete(oldest.value);
    const { warnings, with: ratedWith } = await known;
    return { risks: ratedWith(this.#estimates.of(client, key).ofOneAnswer(!further)), warnings };
  }

  /** Logs it, unless that was done before. */
  warn(warning: string): void {
    if (this.#warned.has(warning)) return;
    this.#warned.add(warning);
    this.#logger.warn({ model: this.#checkpoint.name }, warning);
  }

  async #read(): Promise<void> {
    const file = await calibrationOf(this.#checkpoint);
    this.#judge = await judgeOf(this.#checkpoint, file);
    this.#file = file;
    this.#known.clear();
  }

  async #make(key: string, scoring: AbsoluteScoring): Promise<RatedBy> {
    try {
      const rated = await riskModel(this.#checkpoint, this.#file, scoring, scoring.methods);
      for (const warning of rated.warnings) this.#logger.warn({ model: this.#checkpoint.name }, warning);
      return rated;
    } catch (error) {
      this.#known.delete(key); // the next request may find the file again
      throw error;
    }
  }
}
