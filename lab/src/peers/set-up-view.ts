import { SingleBar } from 'cli-progress';
import { formatBytes } from '#cli/format.js';
import { note, showsBars } from '#cli/terminal.js';

/** Output of a set-up on standard error: lines, and a bar on a terminal. */
export class SetUpView {
  #bar: SingleBar | null = null;
  #barName = '';
  /** Tenths that were printed where there is no bar. */
  #tenths = 0;

  making(path: string, log: string): void {
    this.line(`${path} (log: ${log})`);
  }

  line(text: string): void {
    this.stop();
    note(`  ${text}\n`);
  }

  progress(name: string, done: number, total: number | null, unit: 'bytes' | 'files'): void {
    const text = (value: number): string => (unit === 'bytes' ? formatBytes(value) : String(value));
    if (name !== this.#barName) {
      this.stop();
      this.#barName = name;
      this.#tenths = 0;
      if (showsBars()) {
        this.#bar = new SingleBar({
          format:
            total === null ? `  ${name}: {value}` : `  ${name}: {bar} {value}/{total}, {eta_formatted} left`,
          formatValue: (value, _, type) =>
            type === 'value' || type === 'total' ? text(Number(value)) : String(value),
          stream: process.stderr,
          hideCursor: true,
          clearOnComplete: true,
        });
        this.#bar.start(total ?? 0, done);
      }
    }
    this.#bar?.update(done);
    const tenths = total ? Math.floor((10 * done) / total) : 0;
    if (!this.#bar && total && tenths > this.#tenths) {
      this.#tenths = tenths;
      note(`  ${name}: ${text(done)} of ${text(total)}\n`);
    }
  }

  stop(): void {
    this.#bar?.stop();
    this.#bar = null;
    this.#barName = '';
  }
}
