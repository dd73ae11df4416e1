import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readText } from 'flinch-client/protocol';
import { freePort } from '../free-port.js';
import { ggufOf, peersFolder, pythonOf } from '../peers/folder.js';
import { type PeerServer, type PeerServerName, startPeer } from '../peers/server.js';
import { type Contestant, checkCount, memoryOf } from './contestant.js';

const MODEL = 'smollm2';
/** Bytes of a completion. */
const MOST_BYTES = 16 << 20;
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
export async function openServer(peer: ServerName): Promise<Contestant> {
  const { server, name, args } = SERVERS[peer];
  const more = peer === 'llama-f32' ? args(await f32Model()) : args('');
  const running = await startPeer(server, {
    model: MODEL,
    port: await freePort(),
    log: join(peersFolder(), `speed-${peer}.log`),
    args: [...OPTIONS[server], ...more],
  });
  return {
    name,
    does: ({ prompts, first }) => prompts.length <= SERVED.streams && !first,
    run: async ({ prompts, tokens }) =>
      checkCount(name, await Promise.all(prompts.map((ids) => complete(running, ids, tokens))), tokens),
    memory: async () => memoryOf(await groupOf(running.pid)),
    turn: (mine) => running.signal(mine ? 'SIGCONT' : 'SIGSTOP'),
    close: () => running.close(),
    kill: () => running.signal('SIGKILL'),
  };
}

const OPTIONS: Readonly<Record<PeerServerName, readonly string[]>> = {
  vllm: ['--max-model-len', String(SERVED.context)],
  'llama-cpp': [
    ...['--parallel', String(SERVED.streams), '--ctx-size', String(SERVED.streams * SERVED.context)],
    ...['--threads', String(availableParallelism()), '--cache-ram', '0'],
  ],
};

async function complete(
  { url, model }: PeerServer,
  prompt: readonly number[],
  tokens: number,
): Promise<number> {
  const response = await fetch(`${url}/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model, prompt, max_tokens: tokens, temperature: 0 },
      ...{ ignore_eos: true, cache_prompt: false },
    }),
  });
  const text = await readText(response.body, MOST_BYTES);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text.slice(0, 500)}`);
  const body: { readonly usage?: { readonly completion_tokens?: number } } = JSON.parse(text);
  return body.usage?.completion_tokens ?? 0;
}

/** The same weights as the GGUF of Q4_1 has, unrounded; made once. */
async function f32Model(): Promise<string> {
  const target = join(peersFolder(), 'models', `${MODEL}.F32.gguf`);
  const script = fileURLToPath(new URL('../../scripts/gguf_to_f32.py', import.meta.url));
  if (!existsSync(target)) await promisify(execFile)(pythonOf('vllm'), [script, ggufOf(MODEL), target]);
  return target;
}

/** The processes of a group. */
async function groupOf(leader: number): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const groups = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // After the name, which may hold anything: state, parent, group.
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
    }),
  );
  return pids.filter((_, i) => groups[i] === leader);
}
