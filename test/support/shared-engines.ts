import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { expect, vi } from 'vitest';
import { Engine, type EngineOptions } from '#src/engine/engine.js';
import { OwnHost } from '#src/engine/host.js';
import { reasonerPath } from '#src/package-root.js';
import { CALIBRATION_FILE } from '#src/risk/calibration-file.js';

const open = Engine.open.bind(Engine);
const close = Engine.prototype.close;
/** Engines with processes of their own. */
const owners = new Map<string, Engine>();
/** Engines that run in the processes of an owner. */
const guests = new Set<Engine>();

/**
 * `Engine.open`, but the same files with the same options run in the same processes. Another calibration, or another
 * limit of streams, needs no others. They end after the test file; those of the embedded model with its defaults stay for
 * the next test files, which start none of their own.
 */
export async function openShared(folder: string, options: EngineOptions = {}): Promise<Engine> {
  const { calibrationFile, maxStreams, onWarning: _, ...shared } = options;
  const home = await homeOf(folder);
  const isGuest = home !== resolve(folder) || calibrationFile !== undefined || maxStreams !== undefined;
  const key = await keyOf(home, shared);
  const owner = owners.get(key) ?? (await open(home, isGuest ? shared : options));
  owner.close = async () => {};
  owners.set(key, owner);
  if (!isGuest) return owner;
  const { decode, score } = owner.host;
  const host =
    maxStreams === undefined ? owner.host : new OwnHost({ decode, score, memory: owner.memory, maxStreams });
  const guest = await open(folder, { ...options, host });
  // The processes tell their owner.
  guest.onLoss = (listener) => owner.onLoss(listener);
  guest.onChange = (listener) => owner.onChange(listener);
  guest.close = () => guest.text.close();
  guests.add(guest);
  return guest;
}

/** For tests that neither count its processes nor measure their memory. */
export const sharedReasoner = (): Promise<Engine> => openShared(reasonerPath);

export async function closeSharedEngines(): Promise<void> {
  const kept = await keyOf(reasonerPath);
  const reasoner = owners.get(kept);
  // One whose processes a test killed is no longer as it was opened.
  const stays = reasoner && isIntact(reasoner.status());
  if (stays) {
    const streams = () => [reasoner, ...guests].reduce((sum, engine) => sum + engine.status().streams, 0);
    const idle = () => expect(streams(), 'streams that the test file left').toBe(0);
    await vi.waitFor(idle, { timeout: 120_000, interval: 20 });
    owners.delete(kept);
  }
  await Promise.all([...guests].map((guest) => guest.close()));
  await Promise.all([...owners.values()].map((owner) => close.call(owner)));
  guests.clear();
  owners.clear();
  if (stays) owners.set(kept, reasoner);
}

const isIntact = ({ decode, score }: ReturnType<Engine['status']>): boolean =>
  decode.restarts + score.restarts === 0;

/** The folder that holds the files, where all that `folder` has but a calibration are links to those of one other. */
async function homeOf(folder: string): Promise<string> {
  const linked = await filesOf(folder);
  const home = dirname(linked[0]?.file ?? join(folder, 'none'));
  return JSON.stringify(linked) === JSON.stringify(await filesOf(home)) ? home : resolve(folder);
}

/** The same for engines that are alike: their options, and a fingerprint of the files by sizes and times. */
async function keyOf(folder: string, options: EngineOptions = {}): Promise<string> {
  return JSON.stringify([
    resolve(folder),
    { device: 'cpu', precision: 'fp32', ...options },
    await filesOf(folder),
  ]);
}

async function filesOf(folder: string) {
  const names = await readdir(folder).catch(() => []);
  return Promise.all(
    names
      .filter((name) => name !== CALIBRATION_FILE)
      .sort()
      .map(async (name) => {
        const file = await realpath(join(folder, name));
        const { size, mtimeMs } = await stat(file);
        return { file, size, mtimeMs };
      }),
  );
}
