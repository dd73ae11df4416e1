import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { writeWhole } from '#bench/result-log.js';
import { readJsonFile } from '#src/files/json-text.js';
import { startOf } from '#src/files/process-start.js';

const serverSchema = z.object({
  /** The peer that it is of. */
  peer: z.string(),
  model: z.string(),
  url: z.string(),
  pid: z.int().min(2),
  /** Start of the process, from {@link startOf}: its number may be another's by now. */
  start: z.string(),
  log: z.string(),
});

/** A server that `peers up` has started. */
export type RunningServer = z.output<typeof serverSchema>;

const folderOf = (root: string): string => join(root, 'servers');

const recordOf = (root: string, { peer, model }: Pick<RunningServer, 'peer' | 'model'>): string =>
  join(folderOf(root), `${peer}-${model}.json`);

export const logOf = (root: string, peer: string, model: string): string =>
  join(folderOf(root), `${peer}-${model}.log`);

export function remember(root: string, server: RunningServer): void {
  mkdirSync(folderOf(root), { recursive: true });
  writeWhole(recordOf(root, server), JSON.stringify(server));
}

export const forget = (root: string, server: Pick<RunningServer, 'peer' | 'model'>): void =>
  rmSync(recordOf(root, server), { force: true });

/** Servers on record, whether or not they still run. */
export function recorded(root: string): RunningServer[] {
  if (!existsSync(folderOf(root))) return [];
  const files = readdirSync(folderOf(root)).filter((name) => name.endsWith('.json'));
  return files.sort().map((name) => readJsonFile(join(folderOf(root), name), serverSchema));
}

/** Whether its process is still that process. */
export const isRunning = ({ pid, start }: RunningServer): boolean => startOf(pid) === start;

/**
 * Ends a server and all its processes, and forgets it. A process that has got its number since then is left alone.
 *
 * @returns whether it was still running
 */
export async function end(root: string, server: RunningServer, patience = 10_000): Promise<boolean> {
  const ran = isRunning(server);
  if (ran) {
    signal(server, 'SIGCONT');
    signal(server, 'SIGTERM');
    for (const until = Date.now() + patience; isRunning(server) && Date.now() < until; ) await sleep(100);
    if (isRunning(server)) signal(server, 'SIGKILL');
    while (isRunning(server)) await sleep(100);
  }
  forget(root, server);
  return ran;
}

/** The process leads a group: vLLM runs its engine in a process of its own. */
function signal({ pid }: RunningServer, kind: NodeJS.Signals): void {
  try {
    process.kill(-pid, kind);
  } catch (error) {
    // The process ended meanwhile.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
