import { conformalRank } from '../numerics/distribution.js';
import type { Method } from '../uncertainty/method-names.js';
import type { Calibration } from './calibration.js';
import { isWithin } from './positions.js';
import type { RiskModel, Statistic } from './risk.js';
import type { TextKind } from './step-score.js';

/**
 * Conformal ranks among scores that `flinch calibrate` collected: #{collected < score} / (n + 1). So a threshold of
 * 1 − rate raises an alarm for at most that share of ordinary tokens (or steps, or answers), and never at a rate below
 * 1 / (n + 1). Of answers like those that were collected, and on average over what was collected.
 */
export class CalibratedRisk implements RiskModel {
  readonly #of: ReadonlyMap<Method, Calibration>;

  /** @param calibrations of each method the one that holds */
  constructor(calibrations: ReadonlyMap<Method, Calibration>) {
    this.#of = calibrations;
  }

  calibrated(method: Method, of: 'step' | 'answer' = 'step'): boolean {
    const scores = this.#of.get(method)?.methods[method];
    return of === 'answer' ? scores?.answers !== undefined : scores !== undefined;
  }

  statistic(method: Method): Statistic {
    return this.#of.get(method)?.methods[method]?.statistic ?? 'sum';
  }

  /** `null` for a method that is not calibrated. */
  ofToken(method: Method, score: number, index: number): number | null {
    const { levels, methods } = this.#of.get(method) ?? {};
    const scores = methods?.[method];
    if (!levels || !scores) return null;
    const distribution = scores.positions.find((bin) => isWithin(bin, index)) ?? scores.tokens;
    return conformalRank(distribution, levels, score);
  }

  /**
   * Rank of a step, among those of its kind where it is known (Mondrian conformal prediction; Vovk et al., section 4.5). Per
   * answer it is `null` also for a calibration without a whole answer.
   */
  ofStep(method: Method, score: number, per: 'step' | 'answer' = 'step', kind?: TextKind): number | null {
    const { levels, methods } = this.#of.get(method) ?? {};
    const { steps, peaks } = methods?.[method] ?? {};
    const scores = per === 'answer' ? peaks?.sum : ((kind && steps?.[kind]) ?? steps?.sum);
    return levels && scores ? conformalRank(scores, levels, score) : null;
  }

  /** `null` also for a calibration without a whole answer. */
  ofAnswer(
    method: Method,
    score: number,
    among: 'ordinary' | 'all' = 'ordinary',
    kind?: TextKind,
  ): number | null {
    const { levels, methods, collected } = this.#of.get(method) ?? {};
    const { answers, all } = methods?.[method] ?? {};
    const allAreOrdinary = collected?.answers === 'all';
    const known = among === 'ordinary' || allAreOrdinary ? answers : all;
    const scores = (kind && known?.[kind]) ?? known?.[this.statistic(method)];
    return levels && scores ? conformalRank(scores, levels, score) : null;
  }
}
