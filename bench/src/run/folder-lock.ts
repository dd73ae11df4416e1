import { existsSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { readJsonFile, UsageError } from 'flinch/internals';
import { lock } from 'proper-lockfile';
import { z } from 'zod';
import { startOf } from '../process-start.js';
import { writeWhole } from '../result-log.js';

const ownerSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the process began, as {@link startOf} says it. */
  start: z.string().nullable().default(null),
});
type Owner = z.output<typeof ownerSchema>;

/** A lock that was not renewed for so long belongs to nobody. A long table must not make one look so. */
const STALE_MS = 120_000;

/**
 * Keeps a folder for one process. The lock of a process of this machine that is gone, as after SIGKILL, is taken over at
 * once; that of another machine when it has not been renewed for two minutes.
 * @param onLost another process took it over, as this one did not run for so long
 * @param option that named the folder, for messages
 * @returns the release
 * @throws UsageError where another process has it
 */
export async function lockFolder(
  folder: string,
  onLost: (error: Error) => void,
  option = '--out',
): Promise<() => Promise<void>> {
  const run = join(folder, '.run');
  const ownerFile = join(folder, '.run.owner.json');
  const mine: Owner = { pid: process.pid, host: hostname(), start: startOf(process.pid) };
  // Whoever takes over a dead one's lock must be alone in that, or two would.
  const leaveDoor = await lock(join(folder, '.door'), {
    realpath: false,
    stale: 5000,
    retries: { retries: 100, factor: 1, minTimeout: 100 },
  });
  try {
    const owner = readOwner(ownerFile);
    if (!existsSync(ownerFile) || (owner && isGone(owner))) {
      rmSync(`${run}.lock`, { recursive: true, force: true });
      // Before the lock: killed in between, this one is known to be gone.
      writeWhole(ownerFile, JSON.stringify(mine));
    }
    const release = await lock(run, {
      realpath: false,
      stale: STALE_MS,
      update: STALE_MS / 12,
      onCompromised: (cause) =>
        onLost(new UsageError(`${option}: ${folder} was taken over by another process`, { cause })),
    });
    writeWhole(ownerFile, JSON.stringify(mine));
    return release;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ELOCKED') throw error;
    const owner = readOwner(ownerFile);
    const who = owner ? `process ${owner.pid} on ${owner.host}` : 'another process';
    throw new UsageError(`${option}: ${folder} is in use by ${who}; wait for it or stop it`);
  } finally {
    await leaveDoor();
  }
}

/** Who works in a folder, as far as can be told from here; `null` where nobody does. */
export function workerIn(folder: string): Pick<Owner, 'pid' | 'host'> | null {
  const held = statSync(join(folder, '.run.lock'), { throwIfNoEntry: false });
  const owner = readOwner(join(folder, '.run.owner.json'));
  const isHeld = held !== undefined && Date.now() - held.mtimeMs < STALE_MS;
  return isHeld && owner && !isGone(owner) ? owner : null;
}

/** `null` where nobody is named: the file is whole unless the machine broke down, and then the lock itself grows stale. */
function readOwner(file: string): Owner | null {
  if (!existsSync(file)) return null;
  try {
    return readJsonFile(file, ownerSchema);
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** Only of this machine can that be known. */
function isGone({ pid, host, start }: Owner): boolean {
  if (host !== hostname()) return false;
  // Whoever asks does not hold it yet: in a container that begins anew all have the numbers of before.
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
  // Its number may be another's by now.
  return start !== null && start !== startOf(pid);
}
