import { existsSync, readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { lock } from 'proper-lockfile';
import { z } from 'zod';
import { UsageError } from '../../cli/report.js';
import { writeWhole } from '../ledger.js';

const ownerSchema = z.object({ pid: z.int(), host: z.string() });
type Owner = z.output<typeof ownerSchema>;

/** A lock that was not renewed for so long belongs to nobody. A long table must not make one look so. */
const STALE_MS = 120_000;

/**
 * Keeps a folder for one process. The lock of a process of this machine that is gone, as after SIGKILL, is taken over at
 * once; that of another machine when it has not been renewed for two minutes.
 * @param onLost another process took it over, as this one did not run for so long
 * @returns the release
 * @throws UsageError where another process has it
 */
export async function lockFolder(
  folder: string,
  onLost: (error: Error) => void,
): Promise<() => Promise<void>> {
  const run = join(folder, '.run');
  const ownerFile = join(folder, '.run.owner.json');
  const mine: Owner = { pid: process.pid, host: hostname() };
  // Whoever takes over a dead one's lock must be alone in that, or two would.
  const leaveDoor = await lock(join(folder, '.door'), {
    realpath: false,
    stale: 5000,
    retries: { retries: 100, factor: 1, minTimeout: 100 },
  });
  try {
    const owner = readOwner(ownerFile);
    if (owner === null || isGone(owner)) {
      rmSync(`${run}.lock`, { recursive: true, force: true });
      // Before the lock: killed in between, this one is known to be gone.
      writeWhole(ownerFile, JSON.stringify(mine));
    }
    const release = await lock(run, {
      realpath: false,
      stale: STALE_MS,
      update: STALE_MS / 12,
      onCompromised: (cause) => onLost(new UsageError(`--out: ${folder} was taken over`, { cause })),
    });
    writeWhole(ownerFile, JSON.stringify(mine));
    return release;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ELOCKED') throw error;
    const owner = readOwner(ownerFile);
    const who = owner ? `process ${owner.pid} on ${owner.host}` : 'another process';
    throw new UsageError(`--out: ${folder} is in use by ${who}: wait for it, or end it first`);
  } finally {
    await leaveDoor();
  }
}

function readOwner(file: string): Owner | null {
  if (!existsSync(file)) return null;
  return ownerSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** Only of this machine can that be known. */
function isGone({ pid, host }: Owner): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
