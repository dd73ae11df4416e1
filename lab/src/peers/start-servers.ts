import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { reportError } from '#cli/errors.js';
import { note, say } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { startOf } from '#src/files/process-start.js';
import type { PeerName } from './catalogue.js';
import { explained } from './explained.js';
import { checkpointOf, ggufOf } from './folder.js';
import { litellmCommand } from './litellm.js';
import { type GgufModel, isPeerModel } from './models.js';
import { end, forget, isRunning, logOf, type RunningServer, recorded, remember } from './running.js';
import {
  answers,
  type PeerServer,
  type PeerServerName,
  type PeerServerOptions,
  startPeer,
  startProcess,
} from './server.js';

/** Each server with each model has a port of its own: the base plus this. LiteLLM has one for all. */
export const PORTS = {
  vllm: { reasoner: 1, smollm2: 2 },
  'llama-cpp': { reasoner: 11, smollm2: 12, gemma3: 13 },
  litellm: { all: 0 },
} as const satisfies Record<PeerServerName, Partial<Record<GgufModel, number>>> & {
  litellm: { all: number };
};

export const BASE_PORT = 8400;
export const LAST_OFFSET = 13;

/** Servers in the order of their start, except for LiteLLM, which is before the others. */
export const SERVER_NAMES = ['vllm', 'llama-cpp', 'litellm'] as const;

type Started = Omit<PeerServer, 'model'>;

interface Serving {
  readonly peer: string;
  readonly model: string;
  readonly port: number;
  readonly start: (options: Omit<PeerServerOptions, 'model'>) => Promise<Started>;
}

/** The servers of a peer: one for each model that is set up. */
function servings(peer: (typeof SERVER_NAMES)[number], root: string, basePort: number): Serving[] {
  if (peer === 'litellm') {
    const port = basePort + PORTS.litellm.all;
    const behind = recorded(root).filter((server) => server.peer !== peer && isRunning(server));
    const start: Serving['start'] = (options) =>
      startProcess(peer, litellmCommand(root, port, behind), options);
    return [{ peer, model: 'all', port, start }];
  }
  const ports: Partial<Record<GgufModel, number>> = PORTS[peer];
  return (['reasoner', 'smollm2', 'gemma3'] as const)
    .filter((model) => ports[model] !== undefined && existsSync(fileOf(peer, model)))
    .map((model) => ({
      peer,
      model,
      port: basePort + (ports[model] ?? 0),
      start: (options) => startPeer(peer, { ...options, model }),
    }));
}

const fileOf = (peer: PeerServerName, model: GgufModel): string =>
  peer === 'vllm' && isPeerModel(model) ? checkpointOf(model) : ggufOf(model);

/** vLLM on a busy machine takes minutes. */
const TIMEOUT_MS = 600_000;

/**
 * Starts a server, unless it runs already.
 *
 * @returns `null` if it ran already
 * @throws UsageError if it cannot be started, or if one that runs does not answer
 */
async function startServing(
  root: string,
  { peer, model, port, start }: Serving,
  signal: AbortSignal,
): Promise<Started | null> {
  const known = recorded(root).find((server) => server.peer === peer && server.model === model);
  if (known && isRunning(known) && (await answers(known.url))) return null;
  if (known && isRunning(known)) throw stuck(known);
  const log = logOf(root, peer, model);
  mkdirSync(dirname(log), { recursive: true });
  const url = `http://127.0.0.1:${port}/v1`;
  try {
    return await start({
      port,
      log,
      signal,
      timeout: TIMEOUT_MS,
      // The process is recorded before it answers: `peers down` then finds the server, even if this process
      // ends now.
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
  const started: Started[] = [];
  try {
    for (const peer of SERVER_NAMES.filter((name) => names.includes(name))) {
      if (failed.has(peer)) continue;
      for (const serving of servings(peer, root, basePort)) {
        try {
          note(`  starting ${peer} with ${serving.model}\n`);
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
    say(`${peer} serves ${model} at ${url} (process ${pid})\n`);
}
