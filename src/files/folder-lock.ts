import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import lockfile from 'proper-lockfile';
import { z } from 'zod';
import { UsageError } from './file-errors.js';
import { readJsonFile } from './json-text.js';
import { startOf } from './process-start.js';

const ownerSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the process began, as {@link startOf} says it. */
  start: z.string().nullable().default(null),
});
type Owner = z.output<typeof ownerSchema>;

/** A lock that was not renewed for so long is stale. A long table must not make one look so. */
const STALE_MS = 120_000;

export interface LockOptions {
  /** Begins the names of what is put into the folder; locks of other names do not count. */
  readonly name: string;
  /** Called when another process took it over, because this one did not run for so long. */
  readonly onLost: (cause: Error) => void;
  /** @param who the process that has it, such as "process 17 on host" */
  readonly inUse: (who: string) => Error;
}

/**
 * Keeps a folder for one process. The lock of a process of this machine that is gone, as after SIGKILL, is taken over at
 * once; that of another machine when it has not been renewed for two minutes.
 * @returns the release
 * @throws what `inUse` makes, where another process has it
 */
export async function lockFolder(
  folder: string,
  { name, onLost, inUse }: LockOptions,
): Promise<() => Promise<void>> {
  const lock = join(folder, name);
  const ownerFile = join(folder, `${name}.owner.json`);
  const mine: Owner = { pid: process.pid, host: hostname(), start: startOf(process.pid) };
  const leaveDoor = await enterDoor(folder);
  try {
    const owner = readOwner(ownerFile);
    if (!existsSync(ownerFile) || (owner && isGone(owner))) {
      rmSync(`${lock}.lock`, { recursive: true, force: true });
      // The owner is written before the lock: if this process is killed in between, it is known to be gone.
      writeOwner(ownerFile, mine);
    }
    const release = await lockfile.lock(lock, {
      realpath: false,
      stale: STALE_MS,
      update: STALE_MS / 12,
      onCompromised: onLost,
    });
    writeOwner(ownerFile, mine);
    return async () => {
      const leave = await enterDoor(folder);
      try {
        await release();
        rmSync(ownerFile, { force: true });
      } finally {
        await leave();
      }
    };
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ELOCKED') throw error;
    const owner = readOwner(ownerFile);
    throw inUse(owner ? `process ${owner.pid} on ${owner.host}` : 'another process');
  } finally {
    await leaveDoor();
  }
}

/**
 * Keeps a folder for one download at a time, over all processes.
 * @returns the release
 * @throws UsageError where another one runs
 */
export const lockDownloads = (folder: string): Promise<() => Promise<void>> =>
  lockFolder(folder, {
    name: '.pull',
    onLost: (cause) => {
      throw cause;
    },
    inUse: (who) => new UsageError(`${folder}: ${who} downloads there; wait for it or stop it`),
  });

/** Serialises taking over the lock of a dead process, or two processes would have it. */
const enterDoor = (folder: string): Promise<() => Promise<void>> =>
  lockfile.lock(join(folder, '.door'), {
    realpath: false,
    stale: 5000,
    retries: { retries: 100, factor: 1, minTimeout: 100 },
  });

/** All of it or nothing, whenever the process is killed. */
function writeOwner(file: string, owner: Owner): void {
  writeFileSync(`${file}.part`, JSON.stringify(owner));
  renameSync(`${file}.part`, file);
}

/** `null` for a file that names none: it is whole unless the machine broke down, and then the lock itself grows stale. */
function readOwner(file: string): Owner | null {
  if (!existsSync(file)) return null;
  try {
    return readJsonFile(file, ownerSchema);
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** Whether a process has ended, which is only known for this machine. */
function isGone({ pid, host, start }: Owner): boolean {
  if (host !== hostname()) return false;
  // In a container that starts again, all processes have the same numbers as before.
  if (pid === process.pid) return start === null || start !== startOf(pid);
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
  // Its number may be another's by now.
  return start !== null && start !== startOf(pid);
}
