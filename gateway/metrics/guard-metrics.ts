import type { Counter } from 'prom-client';
import { ACTIONS } from '../../src/guard/guard.js';
import { DriftTest } from '../../src/risk/drift-test.js';
import type { ActionName, Rating, RollbackDoneEvent, ScoreEvent, Verdict } from '../../src/stream/events.js';
import { METHODS, type Method } from '../../src/uncertainty/method-names.js';
import type { Exemplar } from './exposition.js';
import type { Histogram, HistogramSeries } from './histogram.js';
import { type Instruments, ROLLBACK_OUTCOMES, VERDICTS_FLAGGED } from './instruments.js';

/** No score of a model is as large; a server may say anything, and one sum of infinity would stay until the restart. */
const MAX_SCORE = 1000;

/** Probability of a rival that counts (`flinch_rivals_total`). */
const LIKELY = 0.1;

/** Metrics of the guard of one model. Its series are looked up once, because most change with every token. */
export class GuardSeries {
  readonly #guard: Instruments['guard'];
  readonly #own: Instruments['scores'];
  readonly #model: string;
  readonly #scored: Counter.Internal;
  readonly #lagTokens: HistogramSeries;
  readonly #lagSeconds: HistogramSeries;
  readonly #holds: HistogramSeries;
  readonly #scores: Partial<Record<Method, HistogramSeries>> = {};
  readonly #risks: Partial<Record<Method, HistogramSeries>> = {};
  readonly #drift: Partial<Record<Method, DriftTest>> = {};

  constructor({ guard, scores }: Pick<Instruments, 'guard' | 'scores'>, model: string) {
    this.#guard = guard;
    this.#own = scores;
    this.#model = model;
    this.#scored = scores.scoredTokens.labels({ model });
    this.#lagTokens = scores.lagTokens.series({ model });
    this.#lagSeconds = scores.lagSeconds.series({ model });
    this.#holds = guard.stepHold.series({ model });
    const { scoredTokens, lagSkippedTokens, rivals, unscoredTokens } = scores;
    for (const counter of [scoredTokens, lagSkippedTokens, rivals, guard.stops, guard.retractedTokens])
      counter.inc({ model }, 0);
    for (const method of METHODS) unscoredTokens.inc({ model, method }, 0);
    for (const action of ACTIONS) {
      guard.steps.inc({ model, action }, 0);
      guard.flaggedSteps.inc({ model, action }, 0);
    }
    for (const flagged of VERDICTS_FLAGGED) guard.verdicts.inc({ model, flagged }, 0);
    for (const outcome of ROLLBACK_OUTCOMES) guard.rollbacks.inc({ model, outcome }, 0);
  }

  /**
   * The scores of one token.
   * @param methods those that have not been counted for it; by default all
   */
  token(
    { pass, scores, reason, missing = [], risk, rival }: ScoreEvent,
    methods: readonly Method[] = METHODS,
  ): void {
    const model = this.#model;
    if (reason === 'lag') {
      this.#own.lagSkippedTokens.inc({ model });
      return;
    }
    let scored = false;
    for (const method of methods) {
      const score = scores[method];
      if (score === undefined) continue;
      scored = true;
      // Final scores are of another scale.
      if (pass === 'stream') {
        const bounded = Math.max(-MAX_SCORE, Math.min(MAX_SCORE, score));
        this.#of(method, this.#scores, this.#own.tokenScore).observe(bounded);
      }
      const rated = risk?.[method];
      if (rated !== undefined) this.#of(method, this.#risks, this.#own.tokenRisk).observe(rated);
    }
    if (scored && methods === METHODS) this.#scored.inc();
    if (rival && rival.before >= LIKELY) this.#own.rivals.inc({ model });
    for (const method of missing) this.#own.unscoredTokens.inc({ model, method });
  }

  lag(tokens: number, seconds: number): void {
    this.#lagTokens.observe(tokens);
    this.#lagSeconds.observe(seconds);
  }

  /** @param action that the guard is set to */
  judged(action: ActionName, { risk }: Rating, exemplar: Exemplar | undefined): void {
    const labels = { model: this.#model, action };
    this.#guard.steps.inc(labels);
    if (risk !== null) this.#guard.stepRisk.series(labels).observe(risk, exemplar);
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
    this.#guard.flaggedSteps.inc({ model, action: set });
    if (done === 'stop') this.#guard.stops.inc({ model });
  }

  /** @param set method and action of the guard's settings */
  verdict(
    { flagged, rank, reason }: Verdict,
    { method, action }: { readonly method: Method; readonly action: ActionName },
  ): void {
    const model = this.#model;
    this.#guard.verdicts.inc({ model, flagged: String(flagged ?? 'unknown') });
    // Answers that a guard has changed, or that were not scored whole, differ from the calibration for that reason.
    if (rank === undefined || reason !== null || action !== 'annotate') return;
    this.#drift[method] ??= new DriftTest();
    this.#drift[method].observe(rank);
    this.#guard.calibrationDrift.set({ model, method }, this.#drift[method].value);
  }

  rolledBack(outcome: RollbackDoneEvent['outcome']): void {
    this.#guard.rollbacks.inc({ model: this.#model, outcome });
  }

  retracted(tokens: number): void {
    this.#guard.retractedTokens.inc({ model: this.#model }, tokens);
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
