import { stat } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import { UsageError } from '../files/errors.js';
import { asHubModel, type HubModel } from '../hub/hub-model.js';
import type { Pulled } from '../hub/pull.js';
import { formatBytes } from './format.js';

/**
 * The folder or file that a command reads for `--model`: what is there under that name, else the model of the hub, which is
 * downloaded if it has to be.
 * @throws UsageError
 */
export async function localModel(model: string): Promise<string> {
  const remote = asHubModel(model);
  if (!remote || (await isThere(model))) return model;
  try {
    return (await downloadModel(remote, undefined)).path;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${model}: there is no such folder, and from the hub: ${error.message}`);
  }
}

/**
 * Brings a model here, and says on standard error how large it is first, and how far it is. Ctrl-C leaves what has come for
 * the next time.
 * @throws UsageError
 */
export async function downloadModel(model: HubModel, gguf: string | undefined): Promise<Pulled> {
  // Other commands do not load what downloads.
  const { pull } = await import('../hub/pull.js');
  const { hubSettings } = await import('../hub/hub-settings.js');
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once('SIGINT', interrupt);
  const bar = new SingleBar({
    format: '{bar} {value}/{total}, {eta_formatted} left',
    formatValue: (value, _, type) =>
      type === 'value' || type === 'total' ? formatBytes(Number(value)) : String(value),
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  try {
    const pulled = await pull(model, {
      ...{ settings: hubSettings(process.env), gguf, signal: interrupted.signal },
      onStart: ({ files, bytes, folder }) => {
        const what = `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${formatBytes(bytes)}`;
        process.stderr.write(`flinch: downloading ${model.id} (${what}) into ${folder}\n`);
        if (process.stderr.isTTY) bar.start(bytes, 0);
      },
      onProgress: (bytes) => bar.update(bytes),
    });
    if (pulled.stale !== null)
      process.stderr.write(`flinch: ${model.id}: what is in the cache is used (${pulled.stale})\n`);
    return pulled;
  } catch (error) {
    if (interrupted.signal.aborted) process.exitCode = 130;
    throw error;
  } finally {
    bar.stop();
    process.off('SIGINT', interrupt);
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
