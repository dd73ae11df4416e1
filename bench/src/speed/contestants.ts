import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  DEFAULT_SCORING,
  Engine,
  type GenerateRequest,
  scoredGeneration,
  scoreResponse,
} from 'flinch/internals';
import { lastValueFrom, tap } from 'rxjs';
import { checkpointOf, ggufOf, peersFolder, pythonOf } from '../peers/folder.js';
import { type PeerServer, type PeerServerName, startPeer } from '../peers/server.js';
import { processMemory } from './process-memory.js';

/** What is measured: prompts of token ids, each with an answer of a given length. */
export interface Work {
  readonly prompts: readonly (readonly number[])[];
  readonly tokens: number;
}

export interface Contestant {
  readonly name: string;
  /** Answers all prompts at once. Fails if it writes another number of tokens. */
  run(work: Work): Promise<void>;
  /** The most streams at once that it has a meaning for. */
  readonly streams: number;
  /** Bytes of its processes now; `null` where the system does not tell. */
  memory(): Promise<number | null>;
  /** Lets it run, or stops it while another one is measured. */
  turn(mine: boolean): void;
  close(): Promise<void>;
  /** Ends it at once: this process is about to end. */
  kill(): void;
}

const MODEL = 'smollm2';
const CONTEXT = 512;
const MOST_STREAMS = 8;

/** flinch three times: writing alone, writing and scoring as shipped, and scoring a finished text. */
export async function openFlinch(): Promise<Contestant[]> {
  const cores = availableParallelism();
  const options = { contextLength: CONTEXT };
  const writer = await Engine.open(checkpointOf(MODEL), { ...options, decodeThreads: cores });
  const shipped = await Engine.open(checkpointOf(MODEL), options);
  const scorer = await Engine.open(checkpointOf(MODEL), { ...options, scoreThreads: cores });
  const contestant = (
    name: string,
    engine: Engine,
    streams: number,
    answer: (promptIds: readonly number[], tokens: number) => Promise<number>,
  ): Contestant => ({
    name,
    streams,
    run: async ({ prompts, tokens }) => {
      const counts = await Promise.all(prompts.map((ids) => answer(ids, tokens)));
      checkCount(name, counts, tokens);
    },
    memory: () => {
      const { decode, score } = engine.status();
      return memoryOf([decode, score].flatMap(({ pid }) => pid ?? []));
    },
    turn: () => {}, // its processes do nothing unless asked
    close: () => engine.close(),
    kill: () => {}, // its processes end with this one
  });
  return [
    contestant('flinch, no scores', writer, MOST_STREAMS, (ids, tokens) =>
      countEvents('token.delta', scoredGeneration(writer, request(ids, tokens), null)),
    ),
    contestant('flinch, scores as shipped', shipped, MOST_STREAMS, (ids, tokens) =>
      countEvents('score.delta', scoredGeneration(shipped, request(ids, tokens), DEFAULT_SCORING)),
    ),
    contestant('flinch, offline scores of a text', scorer, 1, async (ids, tokens) => {
      const text = Array.from({ length: tokens }, (_, i) => ids[i % ids.length]! + 1);
      const scoring = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } } as const;
      return (await scoreResponse(scorer, ids, text, scoring)).tokens.length;
    }),
  ];
}

const request = (promptIds: readonly number[], maxTokens: number): GenerateRequest => ({
  promptIds,
  maxTokens,
  endIds: [],
  stop: [],
  topLogprobs: 0,
  sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
});

async function countEvents(counted: string, events: ReturnType<typeof scoredGeneration>): Promise<number> {
  let count = 0;
  await lastValueFrom(events.pipe(tap(({ type }) => (count += type === counted ? 1 : 0))));
  return count;
}

export const PEERS = {
  'vllm-fp32': { server: 'vllm', name: 'vLLM, fp32', args: () => [] },
  'vllm-bf16': { server: 'vllm', name: 'vLLM, bf16', args: () => ['--dtype', 'bfloat16'] },
  'llama-f32': { server: 'llama-cpp', name: 'llama.cpp, F32', args: (f32: string) => ['--model', f32] },
  'llama-q4': { server: 'llama-cpp', name: 'llama.cpp, Q4_1', args: () => [] },
} as const;
export type PeerName = keyof typeof PEERS;

/** A server, asked over HTTP. */
export async function openPeer(peer: PeerName): Promise<Contestant> {
  const { server, name, args } = PEERS[peer];
  const more = peer === 'llama-f32' ? args(await f32Model()) : args('');
  const running = await startPeer(server, {
    model: MODEL,
    port: await freePort(),
    log: join(peersFolder(), `speed-${peer}.log`),
    args: [...OPTIONS[server], ...more],
  });
  return {
    name,
    streams: MOST_STREAMS,
    run: async ({ prompts, tokens }) =>
      checkCount(name, await Promise.all(prompts.map((ids) => complete(running, ids, tokens))), tokens),
    memory: async () => memoryOf(await groupOf(running.pid)),
    turn: (mine) => running.signal(mine ? 'SIGCONT' : 'SIGSTOP'),
    close: () => running.close(),
    kill: () => running.signal('SIGKILL'),
  };
}

const OPTIONS: Readonly<Record<PeerServerName, readonly string[]>> = {
  vllm: ['--max-model-len', String(CONTEXT)],
  'llama-cpp': [
    ...['--parallel', String(MOST_STREAMS), '--ctx-size', String(MOST_STREAMS * CONTEXT)],
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
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text.slice(0, 500)}`);
  const body: { readonly usage?: { readonly completion_tokens?: number } } = JSON.parse(text);
  return body.usage?.completion_tokens ?? 0;
}

function checkCount(name: string, counts: readonly number[], tokens: number): void {
  const wrong = counts.find((count) => count !== tokens);
  if (wrong !== undefined) throw new Error(`${name} wrote ${wrong} tokens instead of ${tokens}`);
}

/** The same weights as the GGUF of Q4_1 has, unrounded; made once. */
async function f32Model(): Promise<string> {
  const target = join(peersFolder(), 'models', `${MODEL}.F32.gguf`);
  const script = fileURLToPath(new URL('../../peers/gguf_to_f32.py', import.meta.url));
  if (!existsSync(target)) await promisify(execFile)(pythonOf('vllm'), [script, ggufOf(MODEL), target]);
  return target;
}

/** Of processes together. What is shared (weights, libraries) counts once. */
async function memoryOf(pids: readonly number[]): Promise<number | null> {
  const all = await Promise.all(pids.map(processMemory));
  const known = all.filter((memory) => memory !== null);
  if (known.length === 0 || known.length < all.length) return null;
  return known.reduce((sum, memory) => sum + memory.proportional, 0);
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
