import type { HubModel } from '../src/hub/hub-model.js';
import type { Pulled, PullOptions } from '../src/hub/pull.js';
import { byteBar } from './progress.js';
import { remark, showsBars } from './terminal.js';
import { formatBytes } from './terminal-format.js';

/**
 * Brings a model here, and says on standard error how large it is first, and how far it is. Ctrl-C leaves what has come for
 * the next time.
 * @throws UsageError
 */
export async function downloadModel(
  model: HubModel,
  chosen: Pick<PullOptions, 'gguf' | 'verify'>,
): Promise<Pulled> {
  // Other commands do not load what downloads.
  const { pull } = await import('../src/hub/pull.js');
  const { hubSettings } = await import('../src/hub/hub-settings.js');
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once('SIGINT', interrupt);
  const bar = byteBar('{bar} {value}/{total}, {eta_formatted} left');
  try {
    const pulled = await pull(model, {
      ...chosen,
      settings: hubSettings(process.env),
      signal: interrupted.signal,
      onStart: ({ files, bytes, folder }) => {
        const what = `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${formatBytes(bytes)}`;
        remark(`downloading ${model.id} (${what}) into ${folder}`);
        if (showsBars()) bar.start(bytes, 0);
      },
      onProgress: (bytes) => bar.update(bytes),
    });
    if (pulled.stale !== null) remark(`${model.id}: what is in the cache is used (${pulled.stale})`);
    return pulled;
  } catch (error) {
    if (interrupted.signal.aborted) process.exitCode = 130;
    throw error;
  } finally {
    bar.stop();
    process.off('SIGINT', interrupt);
  }
}
