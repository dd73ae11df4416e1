import { truncateSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { readAnswer } from '../../read-answer.js';
import type { Chance } from './chance.js';
import type { Tally } from './tally.js';

/** Faults of the machine: engine processes that end or stand, and a disk for the log that is full for a while. */

/** Frozen for a moment, or until the gateway kills it. */
const MOMENT_MS = 2000;
const PAUSE_MS = [3000, 15_000] as const;

const FAULTS = ['kill', 'freeze for a moment', 'freeze', 'kill twice', 'room on the disk'] as const;

const processes = z.object({ pid: z.number().optional() });
const health = z.object({
  models: z.array(z.object({ decode: processes.optional(), score: processes.optional() })),
});

export interface InjectorOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Takes so little that it is full most of the time. */
  readonly log: string;
  readonly signal: AbortSignal;
  readonly tally: Tally;
}

/** One fault after another, with pauses, until the signal comes. */
export async function injectFaults(chance: Chance, options: InjectorOptions): Promise<void> {
  const { signal, tally, log } = options;
  while (!signal.aborted) {
    const fault = chance.of(FAULTS);
    // Drawn always, so that the sequence of faults does not depend on what was there to be killed.
    const [choice, pause] = [chance.integer(0, 1 << 20), chance.integer(...PAUSE_MS)];
    if (fault === 'room on the disk') truncateSync(log);
    else await strike(fault, choice, options);
    tally.add('faults', fault);
    await setTimeout(pause, undefined, { signal }).catch(() => {});
  }
}

async function strike(fault: string, choice: number, options: InjectorOptions): Promise<void> {
  const pid = await enginePid(choice, options);
  if (pid === undefined) return;
  if (fault.startsWith('kill')) signalTo(pid, 'SIGKILL');
  else signalTo(pid, 'SIGSTOP');
  if (fault === 'kill twice') {
    await setTimeout(300);
    const next = await enginePid(choice, options);
    if (next !== undefined) signalTo(next, 'SIGKILL');
  }
  if (fault === 'freeze for a moment') {
    await setTimeout(MOMENT_MS);
    signalTo(pid, 'SIGCONT');
  }
}

async function enginePid(choice: number, { url, apiKey }: InjectorOptions): Promise<number | undefined> {
  const response = await fetch(`${url}/healthz`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { models } = health.parse(JSON.parse(await readAnswer(response)));
  const pids = models
    .flatMap(({ decode, score }) => [decode?.pid, score?.pid])
    .filter((pid) => pid !== undefined);
  return pids[choice % Math.max(1, pids.length)];
}

/** The process may have ended meanwhile. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
