import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { reportError, UsageError } from 'flinch/internals';
import { startOf } from '../process-start.js';
import type { PeerName } from './catalogue.js';
import { explained } from './explained.js';
import { checkpointOf, ggufOf } from './folder.js';
import { type GgufModel, isPeerModel } from './models.js';
import { end, forget, isRunning, logOf, type RunningServer, recorded, remember } from './running.js';
import { answers, type PeerServer, type PeerServerName, startPeer } from './server.js';

/** Each server with each model has a port of its own: the base plus this. */
export const PORTS = {
  vllm: { reasoner: 1, smollm2: 2 },
  'llama-cpp': { reasoner: 11, smollm2: 12, gemma3: 13 },
} as const satisfies Record<PeerServerName, Partial<Record<GgufModel, number>>>;

export const BASE_PORT = 8400;
export const LAST_OFFSET = 13;

export const SERVER_NAMES = ['vllm', 'llama-cpp'] as const satisfies readonly PeerServerName[];
export const isServer = (name: string): name is PeerServerName =>
  SERVER_NAMES.some((known) => known === name);

export interface Serving {
  readonly peer: PeerServerName;
  readonly model: GgufModel;
  readonly port: number;
}

/** The servers of a peer: one for each model that is set up. */
export function servings(peer: PeerServerName, basePort: number): Serving[] {
  const ports: Partial<Record<GgufModel, number>> = PORTS[peer];
  return (['reasoner', 'smollm2', 'gemma3'] as const)
    .filter((model) => ports[model] !== undefined && existsSync(fileOf(peer, model)))
    .map((model) => ({ peer, model, port: basePort + (ports[model] ?? 0) }));
}

const fileOf = (peer: PeerServerName, model: GgufModel): string =>
  peer === 'vllm' && isPeerModel(model) ? checkpointOf(model) : ggufOf(model);

/**
 * Starts a server, unless it runs already.
 *
 * @returns `null` if it ran already
 * @throws UsageError if it cannot be started, or if one that runs does not answer
 */
export async function startServing(
  root: string,
  { peer, model, port }: Serving,
  signal: AbortSignal,
): Promise<PeerServer | null> {
  const known = recorded(root).find((server) => server.peer === peer && server.model === model);
  if (known && isRunning(known) && (await answers(known.url))) return null;
  if (known && isRunning(known)) throw stuck(known);
  const log = logOf(root, peer, model);
  mkdirSync(dirname(log), { recursive: true });
  const url = `http://127.0.0.1:${port}/v1`;
  try {
    return await startPeer(peer, {
      model,
      port,
      log,
      signal,
      // Before it answers: whatever ends this process now, `peers down` finds the server.
      onStarted: (pid) => {
        const start = startOf(pid);
        if (start !== null) remember(root, { peer, model, url, pid, start, log });
      },
    });
  } catch (error) {
    const server = recorded(root).find((other) => other.peer === peer && other.model === model);
    if (!server || !isRunning(server)) forget(root, { peer, model });
    throw error;
  }
}

const stuck = ({ peer, model, pid, url, log }: RunningServer): UsageError =>
  new UsageError(
    `${peer} with ${model} runs (process ${pid}) but does not answer at ${url}: see ${log}, or end it with "down"`,
  );

interface Starting {
  readonly root: string;
  readonly basePort: number;
  readonly signal: AbortSignal;
  readonly failed: Set<PeerName>;
}

/**
 * Starts the servers of peers that have not failed; what cannot be started does not keep the others from it. An
 * interruption ends those that were started here.
 */
export async function startAll(
  names: readonly PeerName[],
  { root, basePort, signal, failed }: Starting,
): Promise<void> {
  const started: PeerServer[] = [];
  try {
    for (const peer of names.filter(isServer)) {
      if (failed.has(peer)) continue;
      for (const serving of servings(peer, basePort)) {
        try {
          process.stderr.write(`  starting ${peer} with ${serving.model}\n`);
          const server = await startServing(root, serving, signal);
          if (server) started.push(server);
        } catch (error) {
          signal.throwIfAborted();
          reportError(explained(`${peer}: ${serving.model}`, error));
          failed.add(peer);
        }
      }
    }
  } catch (error) {
    const pids = started.map(({ pid }) => pid);
    for (const server of recorded(root)) if (pids.includes(server.pid)) await end(root, server);
    throw error;
  }
  for (const server of started) server.release();
  for (const { peer, model, url, pid } of recorded(root))
    process.stdout.write(`${peer} serves ${model} at ${url} (process ${pid})\n`);
}
