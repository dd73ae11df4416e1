import type { MonoTypeOperatorFunction } from 'rxjs';
import { answerScoreBy, isAlarm } from '../risk/risk.js';
import type { GuardEvent, ScoreEvent, Verdict } from './events.js';
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
  /** Tokens that the model wrote and that have no score. */
  readonly #unscored = new Set<number>();
  /** The first that the model wrote. */
  #first: number | null = null;
  /** Scores of the steps that have one. */
  readonly #steps: number[] = [];
  /** Scores of the tokens that have one, by index. */
  readonly #tokens = new Map<number, number>();
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
        this.#first ??= event.index;
        this.#unscored.add(event.index);
        break;
      case 'score.delta':
        if (event.pass === 'stream') this.#take(event);
        break;
      case 'step.done':
        this.#step(event.score, event.flagged);
        break;
      case 'step.flagged':
        if (event.action !== 'stop') break;
        this.#stopped = true;
        this.#step(event.score, true);
        break;
      case 'token.retracted':
        for (const kept of [this.#unscored, this.#tokens])
          for (const index of kept.keys()) if (index >= event.from) kept.delete(index);
        if (this.#first !== null && this.#first >= event.from) this.#first = null;
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
    const unscoredTokens = this.#unscored.size;
    const score = this.#score(unscoredTokens);
    // A running estimate learns from being asked: not of an answer that says nothing.
    const risk = score === null ? null : risks.ofAnswer(method, score);
    const rank = score === null || risk === null ? null : risks.ofAnswer(method, score, 'all');
    return {
      ...this.#conclude(risk, unscoredTokens),
      risk,
      rate,
      flaggedSteps: this.#flagged,
      steps: this.#settled,
      unscoredTokens,
      calibrated: risks.calibrated(method, 'answer'),
      ...(rank !== null && { rank }),
      ...(score !== null && { score }),
    };
  }

  /** `null` for an answer without a score. */
  #score(unscored: number): number | null {
    const { method, risks } = this.#options;
    if (this.#first === null || (this.#steps.length === 0 && unscored > 0)) return null;
    const scores = { steps: this.#steps, tokens: [...this.#tokens.values()] };
    return answerScoreBy(risks.statistic?.(method) ?? 'sum', scores);
  }

  #conclude(risk: number | null, unscored: number): Pick<Verdict, 'flagged' | 'reason'> {
    if (this.#stopped) return { flagged: true, reason: 'stopped' };
    if (isAlarm(risk, this.#options.rate)) return { flagged: true, reason: null };
    if (unscored > 0) return { flagged: null, reason: 'unscored_tokens' };
    if (this.#unscoredParts) return { flagged: null, reason: 'unscored_parts' };
    if (this.#first === null) return { flagged: null, reason: 'empty' };
    if (this.#mismatch) return { flagged: null, reason: 'scorer_mismatch' };
    if (risk === null || !this.#canAlarm()) return { flagged: null, reason: 'too_few_answers' };
    return { flagged: false, reason: null };
  }

  /** Whether enough answers were collected for the rate; asking a running estimate would teach it. */
  #canAlarm(): boolean {
    const { method, rate, risks } = this.#options;
    if (!risks.calibrated(method, 'answer')) return true;
    return isAlarm(risks.ofAnswer(method, Number.POSITIVE_INFINITY), rate);
  }

  #take({ index, scores }: ScoreEvent): void {
    const score = scores[this.#options.method];
    if (score === undefined) return;
    this.#tokens.set(index, score);
    this.#unscored.delete(index);
  }

  #step(score: number | null, flagged: boolean): void {
    this.#settled += 1;
    if (flagged) this.#flagged += 1;
    if (score !== null) this.#steps.push(score);
  }
}
