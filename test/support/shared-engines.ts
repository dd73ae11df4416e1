import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, vi } from 'vitest';
import { Engine, type EngineOptions } from '#src/engine/engine.js';
import { reasonerPath } from '#src/package-root.js';
import { CALIBRATION_FILE } from '#src/risk/calibration-file.js';

const open = Engine.open.bind(Engine);
const close = Engine.prototype.close;
const engines = new Map<string, Engine>();

/**
 * `Engine.open`, but the same files with the same options are one engine, which closes after the test file. That of the
 * embedded model with its defaults stays for the next test files, which start no processes of their own.
 */
export async function openShared(folder: string, options: EngineOptions = {}): Promise<Engine> {
  const key = await keyOf(folder, options);
  const engine = engines.get(key) ?? (await open(folder, options));
  engine.close = async () => {};
  engines.set(key, engine);
  return engine;
}

/** For tests that neither count its processes nor measure their memory. */
export const sharedReasoner = (): Promise<Engine> => openShared(reasonerPath);

export async function closeSharedEngines(): Promise<void> {
  const kept = await keyOf(reasonerPath);
  const reasoner = engines.get(kept);
  // One whose processes a test killed is no longer as it was opened.
  const stays = reasoner && isIntact(reasoner.status());
  if (stays) engines.delete(kept);
  await Promise.all([...engines.values()].map((engine) => close.call(engine)));
  engines.clear();
  if (!stays) return;
  engines.set(kept, reasoner);
  const idle = () => expect(reasoner.status().streams, 'streams that the test file left').toBe(0);
  await vi.waitFor(idle, { timeout: 120_000, interval: 20 });
}

const isIntact = ({ decode, score }: ReturnType<Engine['status']>): boolean =>
  decode.restarts + score.restarts === 0;

/** The same for engines that are alike: their options, and a fingerprint of the files by sizes and times. */
async function keyOf(folder: string, options: EngineOptions = {}): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name !== CALIBRATION_FILE).sort();
  const contents = await Promise.all(
    files.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return [name, size, mtimeMs];
    }),
  );
  return JSON.stringify([resolve(folder), { device: 'cpu', precision: 'fp32', ...options }, contents]);
}
