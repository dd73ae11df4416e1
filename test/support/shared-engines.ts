import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Engine, type EngineOptions } from '#src/engine/engine.js';
import { CALIBRATION_FILE } from '#src/risk/calibration-file.js';

const open = Engine.open.bind(Engine);
const close = Engine.prototype.close;
const engines = new Map<string, Engine>();

/** `Engine.open`, but the same files with the same options are one engine, which closes after the test file. */
export async function openShared(folder: string, options: EngineOptions = {}): Promise<Engine> {
  const key = JSON.stringify([resolve(folder), options, await contents(folder)]);
  const engine = engines.get(key) ?? (await open(folder, options));
  engine.close = async () => {};
  engines.set(key, engine);
  return engine;
}

export async function closeSharedEngines(): Promise<void> {
  await Promise.all([...engines.values()].map((engine) => close.call(engine)));
  engines.clear();
}

/** Fingerprint of the files that an engine opens, by sizes and times. */
async function contents(folder: string): Promise<unknown> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name !== CALIBRATION_FILE).sort();
  return Promise.all(
    files.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return [name, size, mtimeMs];
    }),
  );
}
