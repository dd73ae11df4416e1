import { distributionOf, levelsFor } from '../numerics/distribution.js';
import type { Method, Scores } from '../uncertainty/method-names.js';
import type { MethodCalibration } from './calibration.js';
import { byPosition, type TokenSample } from './positions.js';
import { answerScore, byStatistic, STATISTICS, type Statistic, stepScore } from './risk.js';

/** An answer as the guard saw it. */
export interface ScoredAnswer {
  /** Scores of every token, in order. */
  readonly scores: readonly { readonly scores: Scores }[];
  /** Tokens `from` to `to − 1`, one after the other. */
  readonly steps: readonly { readonly from: number; readonly to: number }[];
}

/** The scores of a method, −∞ for what the schedule skipped. */
export interface Samples {
  readonly tokens: readonly TokenSample[];
  readonly steps: Readonly<Record<Statistic, readonly number[]>>;
}

/** @param steps the leading ones that count; the tokens after them do not either */
export function samplesOf({ scores, steps: all }: ScoredAnswer, method: Method, steps = all.length): Samples {
  const counted = all.slice(0, steps);
  const tokens = scores.slice(0, counted.at(-1)?.to ?? 0).map((token) => token.scores[method]);
  const ofSteps = (statistic: Statistic): number[] =>
    counted.map(({ from, to }) =>
      stepScore(
        statistic,
        tokens.slice(from, to).filter((score) => score !== undefined),
      ),
    );
  return {
    tokens: tokens.map((score, index) => ({ index, score: score ?? Number.NEGATIVE_INFINITY })),
    steps: byStatistic(ofSteps),
  };
}

/** Whether all of an answer counts; of one without a step there is nothing that could. */
export const isWhole = ({ steps: all }: ScoredAnswer, steps: number): boolean =>
  all.length > 0 && steps === all.length;

/** Gathers ordinary scores, and makes of them what a calibration keeps. */
export class ScoreCollector {
  readonly #methods: readonly Method[];
  readonly #tokens = new Map<Method, TokenSample[]>();
  readonly #steps = new Map<`${Method} ${Statistic}`, number[]>();
  /** Scores of the answers that count whole. */
  readonly #answers = new Map<`${Method} ${Statistic}`, number[]>();
  readonly #peaks = new Map<`${Method} ${Statistic}`, number[]>();
  readonly #all = new Map<`${Method} ${Statistic}`, number[]>();
  #responses = 0;

  constructor(methods: readonly Method[]) {
    this.#methods = methods;
    for (const method of methods) {
      this.#tokens.set(method, []);
      for (const statistic of STATISTICS) {
        this.#steps.set(`${method} ${statistic}`, []);
        this.#answers.set(`${method} ${statistic}`, []);
        this.#peaks.set(`${method} ${statistic}`, []);
        this.#all.set(`${method} ${statistic}`, []);
      }
    }
  }

  /** @param steps the leading ones that count */
  add(answer: ScoredAnswer, steps = answer.steps.length): void {
    this.#responses += 1;
    for (const method of this.#methods) {
      const samples = samplesOf(answer, method, steps);
      const all = samplesOf(answer, method);
      this.#tokens.get(method)!.push(...samples.tokens);
      for (const statistic of STATISTICS) {
        this.#steps.get(`${method} ${statistic}`)!.push(...samples.steps[statistic]);
        if (isWhole(answer, steps)) {
          this.#answers.get(`${method} ${statistic}`)!.push(answerScore(samples.steps[statistic]));
          this.#peaks.get(`${method} ${statistic}`)!.push(Math.max(...samples.steps[statistic]));
        }
        if (answer.steps.length > 0)
          this.#all.get(`${method} ${statistic}`)!.push(answerScore(all.steps[statistic]));
      }
    }
  }

  /** Numbers of responses, tokens and steps so far. */
  get counts(): { readonly responses: number; readonly tokens: number; readonly steps: number } {
    const [method] = this.#methods;
    const tokens = method ? this.#tokens.get(method)!.length : 0;
    const steps = method ? this.#steps.get(`${method} max`)!.length : 0;
    return { responses: this.#responses, tokens, steps };
  }

  /** @throws RangeError before any step is there */
  distributions(): {
    readonly levels: readonly number[];
    readonly methods: Partial<Record<Method, MethodCalibration>>;
  } {
    const { tokens, steps } = this.counts;
    if (steps === 0) throw new RangeError('there are no steps to calibrate with');
    const levels = levelsFor(tokens);
    const methods = this.#methods.map((method): [Method, MethodCalibration] => {
      const of = (scores: ReadonlyMap<`${Method} ${Statistic}`, number[]>) =>
        byStatistic((statistic) => distributionOf(scores.get(`${method} ${statistic}`)!, levels));
      const byIndex = byPosition(this.#tokens.get(method)!, levels);
      const whole = this.#answers.get(`${method} max`)!.length;
      const all = this.#all.get(`${method} max`)!.length;
      return [
        method,
        {
          ...byIndex,
          steps: of(this.#steps),
          ...(whole > 0 && { answers: of(this.#answers), peaks: of(this.#peaks) }),
          ...(all > whole && { all: of(this.#all) }),
        },
      ];
    });
    return { levels, methods: Object.fromEntries(methods) };
  }
}
