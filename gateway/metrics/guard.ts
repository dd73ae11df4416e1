import type { Counter, Gauge } from 'prom-client';
import { ACTIONS } from '../../src/guard/guard.js';
import { DriftTest } from '../../src/risk/drift-test.js';
import type { ActionName, Rating, RollbackDoneEvent, ScoreEvent, Verdict } from '../../src/stream/events.js';
import { METHODS, type Method } from '../../src/uncertainty/method-names.js';
import type { Exemplar } from './exposition.js';
import type { Families } from './families.js';
import {
  CALIBRATION_DRIFT,
  FLAGGED_STEPS,
  LAG_SECONDS,
  LAG_SKIPPED_TOKENS,
  LAG_TOKENS,
  RETRACTED_TOKENS,
  RIVALS,
  ROLLBACK_OUTCOMES,
  ROLLBACKS,
  SCORED_TOKENS,
  SKIPPED_TOKENS,
  STEP_HOLD,
  STEP_RISK,
  STEPS,
  STOPS,
  TOKEN_RISK,
  TOKEN_SCORE,
  UNSCORED_TOKENS,
  VERDICTS,
  VERDICTS_FLAGGED,
} from './guard-definitions.js';
import type { Histogram, HistogramSeries } from './histogram.js';

/** Metrics of the uncertainty of models, and of the actions of guards. */
export class GuardMetrics {
  readonly scores: Histogram<'model' | 'method'>;
  readonly risks: Histogram<'model' | 'method'>;
  readonly stepRisks: Histogram<'model' | 'action'>;
  readonly scored: Counter<'model'>;
  readonly skipped: Counter<'model' | 'method'>;
  readonly lagSkipped: Counter<'model'>;
  readonly unscored: Counter<'model' | 'method'>;
  readonly rivals: Counter<'model'>;
  readonly steps: Counter<'model' | 'action'>;
  readonly flagged: Counter<'model' | 'action'>;
  readonly verdicts: Counter<'model' | 'flagged'>;
  readonly drift: Gauge<'model' | 'method'>;
  readonly stops: Counter<'model'>;
  readonly rollbacks: Counter<'model' | 'outcome'>;
  readonly retracted: Counter<'model'>;
  readonly lagTokens: Histogram<'model'>;
  readonly lagSeconds: Histogram<'model'>;
  readonly holds: Histogram<'model'>;

  constructor(families: Families) {
    this.scores = families.histogram(TOKEN_SCORE);
    this.risks = families.histogram(TOKEN_RISK);
    this.stepRisks = families.histogram(STEP_RISK);
    this.scored = families.counter(SCORED_TOKENS);
    this.skipped = families.counter(SKIPPED_TOKENS);
    this.lagSkipped = families.counter(LAG_SKIPPED_TOKENS);
    this.unscored = families.counter(UNSCORED_TOKENS);
    this.rivals = families.counter(RIVALS);
    this.steps = families.counter(STEPS);
    this.flagged = families.counter(FLAGGED_STEPS);
    this.verdicts = families.counter(VERDICTS);
    this.drift = families.gauge(CALIBRATION_DRIFT);
    this.stops = families.counter(STOPS);
    this.rollbacks = families.counter(ROLLBACKS);
    this.retracted = families.counter(RETRACTED_TOKENS);
    this.lagTokens = families.histogram(LAG_TOKENS);
    this.lagSeconds = families.histogram(LAG_SECONDS);
    this.holds = families.histogram(STEP_HOLD);
  }

  of(model: string): GuardSeries {
    return new GuardSeries(this, model);
  }
}

/** No score of a model is as large; a server may say anything, and one sum of infinity would stay until the restart. */
const MAX_SCORE = 1000;

/** Probability of a rival that counts ({@link RIVALS}). */
const LIKELY = 0.1;

/** Metrics of the guard of one model. Its series are looked up once, because most change with every token. */
export class GuardSeries {
  readonly #metrics: GuardMetrics;
  readonly #model: string;
  readonly #scored: Counter.Internal;
  readonly #lagTokens: HistogramSeries;
  readonly #lagSeconds: HistogramSeries;
  readonly #holds: HistogramSeries;
  readonly #scores: Partial<Record<Method, HistogramSeries>> = {};
  readonly #risks: Partial<Record<Method, HistogramSeries>> = {};
  readonly #drift: Partial<Record<Method, DriftTest>> = {};

  constructor(metrics: GuardMetrics, model: string) {
    this.#metrics = metrics;
    this.#model = model;
    this.#scored = metrics.scored.labels({ model });
    this.#lagTokens = metrics.lagTokens.series({ model });
    this.#lagSeconds = metrics.lagSeconds.series({ model });
    this.#holds = metrics.holds.series({ model });
    const { scored, lagSkipped, rivals, stops, retracted } = metrics;
    for (const counter of [scored, lagSkipped, rivals, stops, retracted]) counter.inc({ model }, 0);
    for (const counter of [metrics.skipped, metrics.unscored])
      for (const method of METHODS) counter.inc({ model, method }, 0);
    for (const action of ACTIONS) {
      metrics.steps.inc({ model, action }, 0);
      metrics.flagged.inc({ model, action }, 0);
    }
    for (const flagged of VERDICTS_FLAGGED) metrics.verdicts.inc({ model, flagged }, 0);
    for (const outcome of ROLLBACK_OUTCOMES) metrics.rollbacks.inc({ model, outcome }, 0);
  }

  /** The scores of one token. */
  token({ pass, scores, skipped, reason, missing = [], risk, rival }: ScoreEvent): void {
    const model = this.#model;
    if (reason === 'lag') {
      this.#metrics.lagSkipped.inc({ model });
      return;
    }
    let scored = false;
    for (const method of METHODS) {
      const score = scores[method];
      if (score === undefined) continue;
      scored = true;
      // Final scores are of another scale.
      if (pass === 'stream') {
        const told = Math.max(-MAX_SCORE, Math.min(MAX_SCORE, score));
        this.#of(method, this.#scores, this.#metrics.scores).observe(told);
      }
      const rated = risk?.[method];
      if (rated !== undefined) this.#of(method, this.#risks, this.#metrics.risks).observe(rated);
    }
    if (scored) this.#scored.inc();
    if (rival && rival.before >= LIKELY) this.#metrics.rivals.inc({ model });
    for (const method of skipped) this.#metrics.skipped.inc({ model, method });
    for (const method of missing) this.#metrics.unscored.inc({ model, method });
  }

  lag(tokens: number, seconds: number): void {
    this.#lagTokens.observe(tokens);
    this.#lagSeconds.observe(seconds);
  }

  /** @param action that the guard is set to */
  judged(action: ActionName, { risk }: Rating, exemplar: Exemplar | undefined): void {
    const labels = { model: this.#model, action };
    this.#metrics.steps.inc(labels);
    if (risk !== null) this.#metrics.stepRisks.series(labels).observe(risk, exemplar);
  }

  held(seconds: number): void {
    this.#holds.observe(seconds);
  }

  /**
   * @param set action of the guard's settings
   * @param done action that was taken, which may be a weaker one
   */
  flagged(set: ActionName, done: ActionName): void {
    const model = this.#model;
    this.#metrics.flagged.inc({ model, action: set });
    if (done === 'stop') this.#metrics.stops.inc({ model });
  }

  /** @param set method and action of the guard's settings */
  verdict(
    { flagged, rank, reason }: Verdict,
    { method, action }: { readonly method: Method; readonly action: ActionName },
  ): void {
    const model = this.#model;
    this.#metrics.verdicts.inc({ model, flagged: String(flagged ?? 'unknown') });
    // Answers that a guard has changed, or that were not scored whole, differ from the calibration for that reason.
    if (rank === undefined || reason !== null || action !== 'annotate') return;
    this.#drift[method] ??= new DriftTest();
    this.#drift[method].observe(rank);
    this.#metrics.drift.set({ model, method }, this.#drift[method].value);
  }

  rolledBack(outcome: RollbackDoneEvent['outcome']): void {
    this.#metrics.rollbacks.inc({ model: this.#model, outcome });
  }

  retracted(tokens: number): void {
    this.#metrics.retracted.inc({ model: this.#model }, tokens);
  }

  #of(
    method: Method,
    known: Partial<Record<Method, HistogramSeries>>,
    histogram: Histogram<'model' | 'method'>,
  ): HistogramSeries {
    known[method] ??= histogram.series({ model: this.#model, method });
    return known[method];
  }
}
