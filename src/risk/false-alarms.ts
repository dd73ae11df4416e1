import { groupedWilson, type Interval } from '../numerics/proportion.js';
import type { Method } from '../uncertainty/method-names.js';
import { answerScore, isAlarm, type RiskModel } from './risk.js';
import { isWhole, kindOf, type ScoredAnswer, samplesOf } from './score-collector.js';

/** Target rates that a check looks at. */
export const RATES = [0.01, 0.02, 0.05, 0.1] as const;

const KINDS = ['token', 'step', 'any step of an answer', 'answer'] as const;

/** How often ordinary tokens, steps or answers raise an alarm. */
export interface FalseAlarms {
  readonly method: Method;
  readonly of: (typeof KINDS)[number];
  readonly count: number;
  /** Measured at each target, with an interval of 95 % that knows that the tokens of an answer are alike. */
  readonly rates: readonly (Interval & { readonly target: number; readonly measured: number })[];
}

/** Measures a risk model on answers that it was not made from. */
export class FalseAlarmCheck {
  readonly #risks: RiskModel;
  readonly #methods: readonly Method[];
  /** Risks in each answer, by kind. */
  readonly #answers = new Map<`${Method} ${FalseAlarms['of']}`, number[][]>();

  constructor(risks: RiskModel, methods: readonly Method[]) {
    this.#risks = risks;
    this.#methods = methods;
  }

  /** @param steps the leading ones that count */
  add(answer: ScoredAnswer, steps = answer.steps.length): void {
    for (const method of this.#methods) {
      const samples = samplesOf(answer, method, steps);
      const risks = this.#risks;
      this.#note(
        `${method} token`,
        samples.tokens.map(({ score, index }) => risks.ofToken(method, score, index)),
      );
      this.#note(
        `${method} step`,
        samples.steps.map((score, i) => risks.ofStep(method, score, 'step', samples.kinds[i])),
      );
      if (!isWhole(answer, steps) || !risks.calibrated(method, 'answer')) continue;
      const peak = risks.ofStep(method, Math.max(...samples.steps), 'answer');
      const statistic = risks.statistic?.(method) ?? 'sum';
      this.#note(`${method} any step of an answer`, [peak]);
      this.#note(`${method} answer`, [
        risks.ofAnswer(method, answerScore(samples.scored, statistic), 'ordinary', kindOf(answer)),
      ]);
    }
  }

  #note(kind: `${Method} ${FalseAlarms['of']}`, risks: readonly (number | null)[]): void {
    const answers = this.#answers.get(kind) ?? [];
    answers.push(risks.filter((risk) => risk !== null));
    this.#answers.set(kind, answers);
  }

  /** Kinds with nothing to measure are left out. */
  table(): FalseAlarms[] {
    const kinds = this.#methods.flatMap((method) => KINDS.map((of) => ({ method, of })));
    return kinds.flatMap(({ method, of }) => {
      const answers = this.#answers.get(`${method} ${of}`) ?? [];
      const count = answers.reduce((sum, risks) => sum + risks.length, 0);
      return count === 0 ? [] : [{ method, of, count, rates: RATES.map((rate) => measure(answers, rate)) }];
    });
  }
}

function measure(answers: readonly (readonly number[])[], target: number): FalseAlarms['rates'][number] {
  const groups = answers.map((risks) => ({
    successes: risks.filter((risk) => isAlarm(risk, target)).length,
    trials: risks.length,
  }));
  const trials = groups.reduce((sum, group) => sum + group.trials, 0);
  const measured = groups.reduce((sum, group) => sum + group.successes, 0) / trials;
  return { target, measured, ...groupedWilson(groups) };
}
