import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../free-port.js';
import { ggufOf, peersFolder, pythonOf } from '../peers/folder.js';
import { type PeerServerName, startPeer } from '../peers/server.js';
import { decodeSpeed } from './answer-times.js';
import { completionTimes } from './completion-times.js';
import { type Contestant, checkCount, type OpenContestant } from './contestant.js';

const MODEL = 'smollm2';
/** Settings with which these servers are started. */
export const SERVED = { context: 512, streams: 8 };

export const SERVERS = {
  'vllm-fp32': { server: 'vllm', name: 'vLLM, fp32', args: () => [] },
  'vllm-bf16': { server: 'vllm', name: 'vLLM, bf16', args: () => ['--dtype', 'bfloat16'] },
  'llama-f32': { server: 'llama-cpp', name: 'llama.cpp, F32', args: (f32: string) => ['--model', f32] },
  'llama-q4': { server: 'llama-cpp', name: 'llama.cpp, Q4_1', args: () => [] },
} as const;
export type ServerName = keyof typeof SERVERS;

/** A server, asked over HTTP. */
export const serverContestant = (peer: ServerName): Contestant => ({
  name: SERVERS[peer].name,
  does: ({ prompts, positions }) => prompts.length <= SERVED.streams && positions <= SERVED.context,
  open: () => openServer(peer),
});

async function openServer(peer: ServerName): Promise<OpenContestant> {
  const { server, name, args } = SERVERS[peer];
  const more = peer === 'llama-f32' ? args(await f32Model()) : args('');
  const running = await startPeer(server, {
    model: MODEL,
    port: await freePort(),
    log: join(peersFolder(), `speed-${peer}.log`),
    args: [...OPTIONS[server], ...more],
  });
  const kill = (): void => running.signal('SIGKILL');
  process.once('exit', kill);
  return {
    pid: running.pid,
    run: async ({ prompts, tokens }) => {
      const answers = await Promise.all(prompts.map((ids) => completionTimes(running, ids, tokens)));
      checkCount(
        name,
        answers.map((answer) => answer.tokens.length),
        tokens,
      );
      return decodeSpeed(answers);
    },
    close: async () => {
      process.off('exit', kill);
      await running.close();
    },
  };
}

const OPTIONS: Readonly<Record<PeerServerName, readonly string[]>> = {
  vllm: ['--max-model-len', String(SERVED.context)],
  'llama-cpp': [
    ...['--parallel', String(SERVED.streams), '--ctx-size', String(SERVED.streams * SERVED.context)],
    ...['--threads', String(availableParallelism()), '--cache-ram', '0'],
  ],
};

/** The same weights as the GGUF of Q4_1 has, unrounded; made once. */
async function f32Model(): Promise<string> {
  const target = join(peersFolder(), 'models', `${MODEL}.F32.gguf`);
  const script = fileURLToPath(new URL('../../scripts/gguf_to_f32.py', import.meta.url));
  if (!existsSync(target)) await promisify(execFile)(pythonOf('vllm'), [script, ggufOf(MODEL), target]);
  return target;
}
