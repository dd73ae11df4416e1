import { SingleBar } from 'cli-progress';
import { showsBars, streams } from './terminal.js';
import { formatBytes } from './terminal-format.js';

/** A bar on standard error, where people see it and pipes do not. It knows its rate, and so what is left. */
export class Progress {
  readonly #bar: SingleBar;
  readonly #start = performance.now();
  #advanced = 0;

  /**
   * @param total `null` when it is not known
   * @param name of the work, where a command has several
   * @param done before, by a run that was interrupted: that tells nothing of the rate
   */
  constructor(total: number | null, name?: string, done = 0) {
    const bar =
      total === null
        ? '{value} scored, {rate}, {duration_formatted}'
        : '{bar} {value}/{total}, {rate}, {eta_formatted} left';
    const format = name === undefined ? bar : `${name}: ${bar}`;
    this.#bar = new SingleBar({
      format,
      stream: streams.stderr,
      hideCursor: true,
      clearOnComplete: true,
      etaBuffer: 100,
    });
    if (showsBars()) this.#bar.start(total ?? 0, done, { rate: formatRate(0) });
  }

  advance(): void {
    this.#advanced += 1;
    const seconds = (performance.now() - this.#start) / 1000;
    this.#bar.increment(1, { rate: formatRate(this.#advanced / seconds) });
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
