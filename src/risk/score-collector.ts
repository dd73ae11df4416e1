import { type Distribution, distributionOf, levelsFor } from '../numerics/distribution.js';
import type { Method, Scores } from '../uncertainty/method-names.js';
import type { MethodCalibration } from './calibration.js';
import { byPosition, type TokenSample } from './positions.js';
import { answerScore, type Statistic } from './risk.js';
import {
  KINDS,
  kindOfAnswer,
  kindOfStep,
  stepScore,
  type TextKind,
  type WeighedScore,
  weigh,
} from './step-score.js';

/** Fewer steps or answers of a kind are no measure of it: all together are. */
export const MIN_OF_KIND = { steps: 200, answers: 50 } as const;

/** An answer as the guard saw it. */
export interface ScoredAnswer {
  readonly tokens: readonly { readonly text: string }[];
  /** Scores of every token, in order. */
  readonly scores: readonly { readonly scores: Scores }[];
  /** Tokens `from` to `to − 1`, one after the other. */
  readonly steps: readonly { readonly from: number; readonly to: number }[];
}

/** The scores of a method, −∞ for what was skipped. */
export interface Samples {
  readonly tokens: readonly TokenSample[];
  readonly steps: readonly number[];
  /** Of each of these steps. */
  readonly kinds: readonly TextKind[];
  /** Tokens that have a score. */
  readonly scored: readonly WeighedScore[];
}

/** @param steps the leading ones that count; the tokens after them do not either */
export function samplesOf(
  { tokens: texts, scores, steps: all }: ScoredAnswer,
  method: Method,
  steps = all.length,
): Samples {
  const counted = all.slice(0, steps);
  const tokens = scores.slice(0, counted.at(-1)?.to ?? 0).map((token) => token.scores[method]);
  const scored = tokens.map((score, index) => (score === undefined ? [] : [{ ...texts[index]!, score }]));
  return {
    tokens: tokens.map((score, index) => ({ index, score: score ?? Number.NEGATIVE_INFINITY })),
    steps: counted.map(({ from, to }, step) => stepScore(scored.slice(from, to).flat(), step)),
    kinds: counted.map(({ from, to }) => kindOfStep(texts.slice(from, to).map(({ text }) => text))),
    scored: weigh(scored.flat()),
  };
}

/** Whether all of an answer counts; of one without a step there is nothing that could. */
export const isWhole = ({ steps: all }: ScoredAnswer, steps: number): boolean =>
  all.length > 0 && steps === all.length;

/** By all of its steps, whether they count or not. */
export const kindOf = ({ tokens, steps }: ScoredAnswer): TextKind => {
  const kinds = steps.map(({ from, to }) => kindOfStep(tokens.slice(from, to).map(({ text }) => text)));
  return kindOfAnswer(kinds.filter((kind) => kind === 'numbers').length, kinds.length);
};

interface ScoreOfKind {
  readonly score: number;
  readonly kind: TextKind;
}

/** Scores of one method. */
interface Collected {
  readonly tokens: TokenSample[];
  readonly steps: ScoreOfKind[];
  /** Of answers that count whole: their scores, and those of their highest steps. */
  readonly answers: ScoreOfKind[];
  readonly peaks: number[];
  /** Of all answers. */
  readonly all: ScoreOfKind[];
}

/** Gathers ordinary scores, and makes of them what a calibration keeps. */
export class ScoreCollector {
  readonly #collected: ReadonlyMap<Method, Collected>;
  readonly #statistic: Statistic;
  #responses = 0;

  /** @param statistic of answers */
  constructor(methods: readonly Method[], statistic: Statistic = 'sum') {
    this.#statistic = statistic;
    this.#collected = new Map(
      methods.map((method) => [method, { tokens: [], steps: [], answers: [], peaks: [], all: [] }]),
    );
  }

  /** @param steps the leading ones that count */
  add(answer: ScoredAnswer, steps = answer.steps.length): void {
    this.#responses += 1;
    const kind = kindOf(answer);
    for (const [method, collected] of this.#collected) {
      const samples = samplesOf(answer, method, steps);
      const statistic = this.#statistic;
      collected.tokens.push(...samples.tokens);
      collected.steps.push(...samples.steps.map((score, i) => ({ score, kind: samples.kinds[i]! })));
      if (isWhole(answer, steps)) {
        collected.answers.push({ score: answerScore(samples.scored, statistic), kind });
        collected.peaks.push(Math.max(...samples.steps));
      }
      if (answer.steps.length > 0)
        collected.all.push({ score: answerScore(samplesOf(answer, method).scored, statistic), kind });
    }
  }

  /** Numbers of responses, tokens and steps so far. */
  get counts(): { readonly responses: number; readonly tokens: number; readonly steps: number } {
    const [any] = this.#collected.values();
    return { responses: this.#responses, tokens: any?.tokens.length ?? 0, steps: any?.steps.length ?? 0 };
  }

  /** @throws RangeError before any step is there */
  distributions(): {
    readonly levels: readonly number[];
    readonly methods: Partial<Record<Method, MethodCalibration>>;
  } {
    const { tokens, steps } = this.counts;
    if (steps === 0) throw new RangeError('there are no steps to calibrate with');
    const levels = levelsFor(tokens);
    const of = (some: readonly ScoreOfKind[]): Distribution =>
      distributionOf(
        some.map(({ score }) => score),
        levels,
      );
    const ofKinds = (
      scored: readonly ScoreOfKind[],
      least: number,
    ): Partial<Record<TextKind, Distribution>> => {
      const byKind = KINDS.map((kind) => [kind, scored.filter((one) => one.kind === kind)] as const);
      return Object.fromEntries(
        byKind.filter(([, some]) => some.length >= least).map(([kind, some]) => [kind, of(some)]),
      );
    };
    const ofAnswers = (scored: readonly ScoreOfKind[]) => ({
      [this.#statistic]: of(scored),
      ...ofKinds(scored, MIN_OF_KIND.answers),
    });
    const methods = [...this.#collected].map(([method, collected]): [Method, MethodCalibration] => {
      const { tokens, steps, answers, peaks, all } = collected;
      return [
        method,
        {
          ...byPosition(tokens, levels),
          steps: { sum: of(steps), ...ofKinds(steps, MIN_OF_KIND.steps) },
          ...(this.#statistic !== 'sum' && { statistic: this.#statistic }),
          ...(answers.length > 0 && {
            answers: ofAnswers(answers),
            peaks: { sum: distributionOf(peaks, levels) },
          }),
          ...(all.length > answers.length && { all: ofAnswers(all) }),
        },
      ];
    });
    return { levels, methods: Object.fromEntries(methods) };
  }
}
