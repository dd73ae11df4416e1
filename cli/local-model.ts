import { stat } from 'node:fs/promises';
import { ggufFilesIn } from '../src/checkpoint/model-path.js';
import { UsageError } from '../src/files/file-errors.js';
import { asHubModel } from '../src/hub/hub-model.js';
import { downloadModel } from './hub-download.js';
import { nearModels } from './known-models.js';
import { shellWord } from './shell-word.js';

/**
 * The folder or file that a command reads as a model: what is there under that name, else the model of the hub, which is
 * downloaded if it has to be. What looks like a path is never asked for at the hub.
 * @param command the words before the model, for the commands that a message shows; `null` for one that reads no GGUF
 *   file
 * @throws UsageError
 */
export async function localModel(model: string, command: string | null): Promise<string> {
  const info = await stat(model).catch(() => null);
  if (info?.isDirectory() && command) await refuseGgufFolder(model, command);
  if (!info && !/[/\\]|\.gguf$/i.test(model)) refuseUnknown(model, command);
  const remote = /\.gguf$/i.test(model) ? null : asHubModel(model);
  if (info || !remote) return model;
  try {
    return (await downloadModel(remote, {})).path;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const own = command ? `\nfiles of your own: ${command} PATH` : '';
    throw new UsageError(`${model}: no such file or folder, and from the hub: ${error.message}${own}`);
  }
}

/** @throws UsageError with the models of the hub whose names are like it, if there are any */
function refuseUnknown(name: string, command: string | null): void {
  const near = nearModels(name);
  if (near.length === 0) return;
  const lines = near.map((model) => (command ? `${command} ${model}` : model));
  throw new UsageError(
    [`${name}: no such file or folder; on the hub (flinch pull --list) there are:`, ...lines].join('\n'),
  );
}

/** @throws UsageError with a command for each of the files */
async function refuseGgufFolder(folder: string, command: string): Promise<void> {
  const files = await ggufFilesIn(folder);
  if (files.length === 0) return;
  const commands = files.map((file) => `${command} ${shellWord(file)}`);
  throw new UsageError([`${folder} has GGUF files, each of which is a model:`, ...commands].join('\n'));
}
