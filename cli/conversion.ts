import { SingleBar } from 'cli-progress';
import type { Conversion } from '../src/checkpoint/conversion.js';
import { formatBytes } from './format.js';
import { remark, showsBars } from './terminal.js';

/** Says on standard error that a GGUF file or a quantised checkpoint is converted, and where people see it how far. */
export function reportConversion(): (progress: Conversion) => void {
  const bar = new SingleBar({
    format: '{bar} {percentage} %, {eta_formatted} left',
    stream: process.stderr,
    clearOnComplete: true,
  });
  let begun = false;
  return ({ file, folder, written, total }) => {
    if (!begun) {
      remark(`converting ${file} into ${folder} (${formatBytes(total)}), this once`);
      if (showsBars()) bar.start(total, 0);
    }
    begun = true;
    bar.update(written);
    if (written === total) bar.stop();
  };
}
