import { SingleBar } from 'cli-progress';
import { showsBars, streams } from './terminal.js';
import { formatBytes, formatDuration } from './terminal-format.js';

/** Before so many are done nothing is said of the time left. */
const ENOUGH = 10;

/** A bar on standard error, where people see it and pipes do not. It knows its rate, and so what is left. */
export class Progress {
  readonly #bar: SingleBar;
  readonly #start = performance.now();
  /** When the first was done: sessions open with it, which takes longer than all others may. */
  #first = 0;
  #advanced = 0;
  #left: number;

  /**
   * @param total `null` when it is not known
   * @param name of the work, where a command has several
   * @param done before, by a run that was interrupted: that tells nothing of the rate
   */
  constructor(total: number | null, name?: string, done = 0) {
    const bar =
      total === null ? '{value} scored, {rate}, {duration_formatted}' : '{bar} {value}/{total}, {rate}{left}';
    const format = name === undefined ? bar : `${name}: ${bar}`;
    this.#bar = new SingleBar({
      format,
      stream: streams.stderr,
      hideCursor: true,
      clearOnComplete: true,
    });
    this.#left = (total ?? 0) - done;
    if (showsBars()) this.#bar.start(total ?? 0, done, { rate: formatRate(0), left: '' });
  }

  advance(): void {
    this.#advanced += 1;
    const now = performance.now();
    if (this.#advanced === 1) this.#first = now;
    const rate = formatRate((1000 * this.#advanced) / (now - this.#start));
    const each = (now - this.#first) / (this.#advanced - 1) / 1000;
    this.#left -= 1;
    this.#bar.increment(1, {
      rate,
      left: this.#advanced < ENOUGH ? '' : `, about ${formatDuration(this.#left * each)} left`,
    });
  }

  stop(): void {
    this.#bar.stop();
  }
}

/** A bar of bytes that come. */
export interface ByteBar {
  start(total: number, done: number): void;
  update(done: number): void;
  stop(): void;
}

/** @param format of cli-progress */
export const byteBar = (format: string): ByteBar =>
  new SingleBar({
    format,
    formatValue: (value, _, type) =>
      type === 'value' || type === 'total' ? formatBytes(Number(value)) : String(value),
    stream: streams.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });

const formatRate = (perSecond: number): string =>
  perSecond === 0 || perSecond >= 1 ? `${perSecond.toFixed(1)}/s` : `${(60 * perSecond).toFixed(1)}/min`;
