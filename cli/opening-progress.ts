import type { OpenCheckpointOptions } from '../src/checkpoint/checkpoint.js';
import type { Conversion } from '../src/checkpoint/conversion.js';
import { userCache } from '../src/files/cache-folder.js';
import { byteBar } from './progress.js';
import { remark, showsBars } from './terminal.js';
import { formatBytes } from './terminal-format.js';

/** Says on standard error what there is to say about a model that is opened. */
export const reportOpening = (): Pick<OpenCheckpointOptions, 'onConversion' | 'onWarning'> => ({
  onConversion: reportConversion(),
  onWarning: remark,
});

/** Says on standard error that weights are converted, and where people see it how far. */
function reportConversion(): (progress: Conversion) => void {
  const bar = byteBar('{bar} {percentage} %, {eta_formatted} left');
  const started = new Set<string>();
  return ({ file, folder, written, total }) => {
    if (!started.has(folder)) {
      const cache = userCache();
      const why = folder.startsWith(cache) ? 'this once' : `as ${cache} cannot be written`;
      remark(`converting ${file} into ${folder} (${formatBytes(total)}), ${why}`);
      if (showsBars()) bar.start(total, 0);
    }
    started.add(folder);
    bar.update(written);
    if (written === total) bar.stop();
  };
}
