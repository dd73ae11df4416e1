import type { MonoTypeOperatorFunction } from 'rxjs';
import { answerScore, isAlarm } from '../risk/risk.js';
import { hasDigit, kindOfAnswer, type TextKind, weightOf } from '../risk/step-score.js';
import type { GuardEvent, ScoreEvent, StepEvent, TokenEvent, Verdict } from './events.js';
import type { FlagOptions } from './flag-steps.js';
import { staged } from './stage.js';

/** Options of the answer's steps. */
export type JudgeOptions = Omit<FlagOptions, 'per'>;

/**
 * Adds `verdict` to `generation.done`: the risk of the whole answer among ordinary answers, whatever it was flagged for
 * on the way. It goes by the settled steps, so it comes after {@link intervene}; what was retracted does not count. A
 * step that the guard stopped at counts.
 *
 * What is not scored is never unflagged: with a token or a part that has no score, or while too few ordinary answers are known,
 * `flagged` is `null` unless the rest raises an alarm by itself.
 *
 * @example
 * from(engineBranch(engine, request, options)).pipe(
 *   intervene({ policy, seed: 1 }),
 *   judgeAnswer({ method: 'adversarial', rate: 0.05, risks }),
 * );
 */
export function judgeAnswer(options: JudgeOptions): MonoTypeOperatorFunction<GuardEvent> {
  return staged((emit) => {
    const answer = new JudgedAnswer(options);
    return {
      next: (event) => {
        if (event.type === 'generation.done') return emit({ ...event, verdict: answer.verdict() });
        answer.observe(event);
        emit(event);
      },
    };
  });
}

class JudgedAnswer {
  readonly #options: JudgeOptions;
  /** Weights of tokens that the model wrote and that have no score. */
  readonly #unscored = new Map<number, number>();
  /** Text of the last token. */
  #before = '';
  /** Scores of the tokens that have one, by their weight. */
  readonly #scores = new Map<number, Map<number, number>>();
  /** Tokens with a digit whose step is not settled. */
  #digits: number[] = [];
  /** Settled steps with a digit. */
  #numbers = 0;
  #settled = 0;
  #flagged = 0;
  #stopped = false;
  #mismatch = false;
  #unscoredParts = false;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  observe(event: GuardEvent): void {
    switch (event.type) {
      case 'token.delta':
        this.#written(event);
        break;
      case 'score.delta':
        if (event.pass === 'stream') this.#take(event);
        break;
      case 'step.done':
        this.#step(event, event.flagged);
        break;
      case 'step.flagged':
        if (event.action !== 'stop') break;
        this.#stopped = true;
        this.#step(event, true);
        break;
      case 'token.retracted':
        for (const kept of [this.#unscored, ...this.#scores.values()])
          for (const index of kept.keys()) if (index >= event.from) kept.delete(index);
        this.#digits = this.#digits.filter((index) => index < event.from);
        this.#before = '';
        break;
      case 'upstream.delta':
        this.#unscoredParts ||= event.unscored.length > 0;
        break;
      case 'scorer.mismatch':
        this.#mismatch = true;
    }
  }

  verdict(): Verdict {
    const { method, rate, risks } = this.#options;
    const score = this.#score();
    // A running estimate learns from being asked: not of an answer that says nothing.
    const risk = score === null ? null : risks.ofAnswer(method, score, 'ordinary', this.#kind);
    const rank = score === null || risk === null ? null : risks.ofAnswer(method, score, 'all', this.#kind);
    return {
      ...this.#conclude(score, risk),
      risk,
      rate,
      flaggedSteps: this.#flagged,
      steps: this.#settled,
      unscoredTokens: this.#unscored.size,
      calibrated: risks.calibrated(method, 'answer'),
      ...(rank !== null && { rank }),
      ...(score !== null && { score }),
    };
  }

  get #kind(): TextKind {
    return kindOfAnswer(this.#numbers, this.#settled);
  }

  /** `null` for an answer without a score. */
  #score(): number | null {
    const { method, risks } = this.#options;
    const weighed = [...this.#scores].flatMap(([weight, scores]) =>
      [...scores.values()].map((score) => ({ score, weight })),
    );
    if (weighed.length === 0) return null;
    return answerScore(weighed, risks.statistic?.(method));
  }

  #conclude(score: number | null, risk: number | null): Pick<Verdict, 'flagged' | 'reason'> {
    if (this.#stopped) return { flagged: true, reason: 'stopped' };
    if (isAlarm(risk, this.#options.rate)) return { flagged: true, reason: null };
    if (this.#unscored.size > 0) return { flagged: null, reason: 'unscored_tokens' };
    if (this.#unscoredParts) return { flagged: null, reason: 'unscored_parts' };
    if (score === null) return { flagged: null, reason: 'empty' };
    if (this.#mismatch) return { flagged: null, reason: 'scorer_mismatch' };
    if (risk === null || !this.#canAlarm()) return { flagged: null, reason: 'too_few_answers' };
    return { flagged: false, reason: null };
  }

  /** Whether enough answers were collected for the rate; asking a running estimate would teach it. */
  #canAlarm(): boolean {
    const { method, rate, risks } = this.#options;
    if (!risks.calibrated(method, 'answer')) return true;
    return isAlarm(risks.ofAnswer(method, Number.POSITIVE_INFINITY, 'ordinary', this.#kind), rate);
  }

  #written({ index, text }: TokenEvent): void {
    for (const scores of this.#scores.values()) scores.delete(index);
    this.#unscored.set(index, weightOf(text, this.#before));
    this.#before = text;
    if (hasDigit(text)) this.#digits.push(index);
  }

  #take({ index, scores }: ScoreEvent): void {
    const score = scores[this.#options.method];
    const weight = this.#unscored.get(index);
    if (score === undefined || weight === undefined) return;
    this.#unscored.delete(index);
    const alike = this.#scores.get(weight) ?? new Map<number, number>();
    this.#scores.set(weight, alike.set(index, score));
  }

  #step({ from, to }: Pick<StepEvent, 'from' | 'to'>, flagged: boolean): void {
    this.#settled += 1;
    if (flagged) this.#flagged += 1;
    if (this.#digits.some((index) => index >= from && index < to)) this.#numbers += 1;
    this.#digits = this.#digits.filter((index) => index >= to);
  }
}
