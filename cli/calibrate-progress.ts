import { SingleBar } from 'cli-progress';
import { formatDuration } from './format.js';
import { remark, showsBars } from './terminal.js';

/** What is supposed of the answers that have ended before any has: the first to end are short ones. */
const SUPPOSED = { answers: 8, tokens: 1600 };
const ESTIMATE_MS = 4000;
const REDRAW_MS = 500;
const LEAST_TOKENS = 8;
/** Less is not worth a line. */
const LONG_SECONDS = 60;

/** A bar of answers, whose rate is that of tokens: so there is an estimate before the first answer ends. */
export class AnswerProgress {
  readonly #bar = new SingleBar({
    format: '{bar} {value}/{total} answers, {estimate}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  readonly #total: number;
  readonly #timers: NodeJS.Timeout[];
  /** With those of an earlier run. */
  #answered: number;
  #tokens = 0;
  /** When the first token came: prompts are read before. */
  #start = 0;
  /** With the supposed ones. */
  #ended = SUPPOSED;

  /** @param advice said with an estimate of more than a minute, where nobody sees a bar */
  constructor(total: number, done: number, advice: string) {
    this.#total = total;
    this.#answered = done;
    if (showsBars()) {
      this.#bar.start(total, done, { estimate: this.#estimate() });
      this.#timers = [setInterval(() => this.#bar.update({ estimate: this.#estimate() }), REDRAW_MS)];
      return;
    }
    const timer = setInterval(() => {
      const left = this.#secondsLeft();
      if (left === null) return;
      clearInterval(timer);
      if (left > LONG_SECONDS)
        remark(`${total - this.#answered} answers to write: ${this.#estimate()}${advice}`);
    }, ESTIMATE_MS);
    this.#timers = [timer];
  }

  token(): void {
    if (this.#tokens === 0) this.#start = performance.now();
    this.#tokens += 1;
  }

  /** @param tokens of an answer that has ended */
  answer(tokens: number): void {
    this.#answered += 1;
    this.#ended = { answers: this.#ended.answers + 1, tokens: this.#ended.tokens + tokens };
    if (showsBars()) this.#bar.increment(1, { estimate: this.#estimate() });
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#bar.stop();
  }

  #rate(): number {
    return (1000 * (this.#tokens - 1)) / (performance.now() - this.#start);
  }

  #secondsLeft(): number | null {
    if (this.#tokens < LEAST_TOKENS) return null;
    const { answers, tokens } = this.#ended;
    const begun = this.#tokens - (tokens - SUPPOSED.tokens);
    return Math.max(0, (this.#total - this.#answered) * (tokens / answers) - begun) / this.#rate();
  }

  #estimate(): string {
    const left = this.#secondsLeft();
    if (left === null) return 'first tokens …';
    const rate = this.#rate();
    return `${rate.toFixed(rate < 10 ? 1 : 0)} tokens/s, about ${formatDuration(left)} left`;
  }
}
