import { SingleBar } from 'cli-progress';
import { formatDuration } from './format.js';
import { remark, showsBars } from './terminal.js';

/** What is supposed of the length of an answer before one has ended. */
const SUPPOSED_TOKENS = 200;
const ESTIMATE_MS = 4000;
const REDRAW_MS = 500;
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
  readonly #start = performance.now();
  readonly #total: number;
  readonly #timers: NodeJS.Timeout[];
  /** With those of an earlier run. */
  #answered: number;
  #tokens = 0;
  #ended = { answers: 0, tokens: 0 };

  /** @param advice said with an estimate of more than a minute, where nobody sees a bar */
  constructor(total: number, done: number, advice: string) {
    this.#total = total;
    this.#answered = done;
    if (showsBars()) {
      this.#bar.start(total, done, { estimate: this.#estimate() });
      this.#timers = [setInterval(() => this.#bar.update({ estimate: this.#estimate() }), REDRAW_MS)];
      return;
    }
    const tell = (): void => {
      if ((this.#secondsLeft() ?? 0) > LONG_SECONDS)
        remark(`${total - this.#answered} answers to write: ${this.#estimate()}${advice}`);
    };
    this.#timers = [setTimeout(tell, ESTIMATE_MS)];
  }

  token(): void {
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
    return (1000 * this.#tokens) / (performance.now() - this.#start);
  }

  #secondsLeft(): number | null {
    if (this.#tokens === 0) return null;
    const { answers, tokens } = this.#ended;
    const length = answers === 0 ? SUPPOSED_TOKENS : tokens / answers;
    const begun = this.#tokens - tokens;
    return Math.max(0, (this.#total - this.#answered) * length - begun) / this.#rate();
  }

  #estimate(): string {
    const left = this.#secondsLeft();
    if (left === null) return 'no token yet';
    return `${this.#rate().toFixed(0)} tokens/s, about ${formatDuration(left)} left`;
  }
}
