import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { remark } from '#cli/terminal.js';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import type { Precision } from '#src/engine/precision.js';
import { UsageError } from '#src/files/errors.js';
import { encodePrompt } from '#src/tokenizer/prompt.js';
import { checkpointOf, ggufOf, peersFolder } from '../peers/folder.js';
import { isSetUp, up } from '../peers/up.js';
import { hasTorch, nodeLlamaContestant, torchContestant } from './child-contestants.js';
import type { Contestant } from './contestant.js';
import { flinchContestants, OFFLINE, offlineContestant } from './flinch-contestants.js';
import type { Job } from './peers-speed.js';
import { SHAPES, writeRandomCheckpoint } from './random-checkpoint.js';
import { type GgufFormat, writeRandomGguf } from './random-gguf.js';
import { SERVED, SERVERS, type ServerName, serverContestant } from './server-contestants.js';

export const PRETRAINED = ['qwen-0.5b', 'qwen-1.5b'] as const;
export const MODELS = [...PRETRAINED, '135m', 'small', 'smollm2'] as const;
export type ModelName = (typeof MODELS)[number];

const SERVER_NAMES = Object.keys(SERVERS).filter((name): name is ServerName => name in SERVERS);
export const PEERS_OF = {
  'qwen-0.5b': ['llama'],
  'qwen-1.5b': ['llama'],
  '135m': ['llama', 'torch'],
  small: ['llama', 'torch'],
  smollm2: SERVER_NAMES,
} as const satisfies Record<ModelName, readonly string[]>;

export interface ModelOptions {
  readonly peers: readonly string[];
  readonly formats: readonly GgufFormat[];
  readonly python: string;
  /** Of the text that flinch writes; the others write greedily. */
  readonly temperature: number;
  /** Folder for files. */
  readonly temporary: string;
}

/** A model with the programs that run it, and what they do. */
export interface Comparison {
  readonly jobs: readonly Job[];
  readonly contestants: readonly Contestant[];
}

/** The models that are measured if none is named: those that reason, where they are set up. */
export function defaultModels(): ModelName[] {
  const there = PRETRAINED.filter((model) => isSetUp(peersFolder(), model));
  return there.length > 0 ? there : ['135m'];
}

/** Makes the files that are needed. */
export function prepareModel(model: ModelName, options: ModelOptions): Promise<Comparison> {
  if (model === 'smollm2') return prepareSmollm2(options);
  return model === '135m' || model === 'small' ? prepareRandom(model, options) : prepareQwen(model, options);
}

/** Of GSM8K (Cobbe et al. 2021), its first problem. */
const PROBLEM = [
  { role: 'system', content: 'You are a helpful assistant.' },
  {
    role: 'user',
    content:
      "Janet's ducks lay 16 eggs per day. She eats three for breakfast every morning and bakes muffins for her friends every day with four. She sells the remainder at the farmers' market daily for $2 per fresh duck egg. How much in dollars does she make every day at the farmers' market?",
  },
] as const;

async function prepareQwen(
  model: (typeof PRETRAINED)[number],
  { peers, temperature }: ModelOptions,
): Promise<Comparison> {
  const file = ggufOf(model);
  if (!existsSync(file)) throw new UsageError(`${model} is not set up: npm run lab -- peers up ${model}`);
  const beside = peers.includes('llama');
  if (beside) await provideNodeLlama();
  const ids = encodePrompt(await openCheckpoint(file), PROBLEM);
  return {
    jobs: [{ streams: 1, promptTokens: ids.length, prompts: () => [ids] }],
    contestants: onOneFile(file, {
      format: '',
      precision: 'int8',
      beside,
      temperature,
      most: { context: 1024, streams: 1 },
    }),
  };
}

interface OneFile {
  /** To be told from others of the same run; may be empty. */
  readonly format: string;
  /** In which flinch writes. */
  readonly precision: Precision;
  /** Whether llama.cpp runs, too. */
  readonly beside: boolean;
  readonly temperature: number;
  readonly most: { readonly context: number; readonly streams: number };
}

/** The same GGUF file in flinch and in llama.cpp, with one thread and with all. */
function onOneFile(model: string, { format, beside, precision, ...options }: OneFile): Contestant[] {
  const suffix = format === '' ? '' : `, ${format}`;
  const llama = (threads: number): string => `llama.cpp${suffix}, ${threads} thread${threads > 1 ? 's' : ''}`;
  const reference = llama(1);
  const name = format === '' ? 'flinch' : `flinch, ${format} in ${precision}`;
  const threads = [...new Set([1, availableParallelism()])];
  return [
    ...flinchContestants({ ...options, model, name, precision, reference: beside ? reference : undefined }),
    ...(beside ? threads.map((n) => nodeLlamaContestant(llama(n), { model, threads: n, reference })) : []),
  ];
}

async function provideNodeLlama(): Promise<void> {
  if (!isSetUp(peersFolder(), 'node-llama-cpp')) await up(['node-llama-cpp'], { start: false, basePort: 0 });
  if (!isSetUp(peersFolder(), 'node-llama-cpp')) throw new UsageError('node-llama-cpp could not be set up');
}

async function prepareSmollm2({ peers, temperature }: ModelOptions): Promise<Comparison> {
  const model = checkpointOf('smollm2');
  return {
    jobs: [1, SERVED.streams].map((streams) => randomJob(streams, 32)),
    contestants: [
      ...flinchContestants({ model, name: 'flinch', most: SERVED, precision: 'fp32', temperature }),
      offlineContestant(model, SERVED.context),
      ...SERVER_NAMES.filter((name) => peers.includes(name)).map(serverContestant),
    ],
  };
}

const RANDOM = { context: 2448, streams: 16 };

/** Weights of 8 bits and less are written with in int8, as llama.cpp does. */
async function prepareRandom(
  model: '135m' | 'small',
  { peers, formats, python, temperature, temporary }: ModelOptions,
): Promise<Comparison> {
  const shape = SHAPES[model];
  const beside = peers.includes('llama');
  if (beside) await provideNodeLlama();
  const contestants: Contestant[] = [];
  for (const format of formats) {
    const file = join(temporary, `${format}.gguf`);
    await writeRandomGguf(file, shape, { format, seed: 1 });
    const precision = format === 'F32' ? 'fp32' : 'int8';
    contestants.push(...onOneFile(file, { format, precision, beside, temperature, most: RANDOM }));
  }
  const folder = join(temporary, 'checkpoint');
  await mkdir(folder);
  await writeRandomCheckpoint(folder, shape, { type: 'fp32', seed: 1 });
  contestants.push(offlineContestant(folder, RANDOM.context, OFFLINE));
  if (peers.includes('torch')) {
    if (await hasTorch(python)) contestants.push(torchContestant(python, folder, OFFLINE));
    else remark(`${python} has no torch: PyTorch is left out (see --python)`);
  }
  return { jobs: [randomJob(1, 32), randomJob(RANDOM.streams, 32), randomJob(1, 2000)], contestants };
}

/** Ids of whole words, so that no server treats any of them as special; all models have them. */
const [FIRST_ID, LAST_ID] = [1000, 8000];

/** Other prompts in each round and stream, which are in no cache. */
function randomJob(streams: number, promptTokens: number): Job {
  const id = (i: number): number => FIRST_ID + ((i * 7919) % (LAST_ID - FIRST_ID));
  const prompt = (number: number): number[] =>
    Array.from({ length: promptTokens }, (_, i) => id(number * promptTokens + i));
  const prompts = (round: number): number[][] =>
    Array.from({ length: streams }, (_, stream) => prompt(round * 100 + streams + stream));
  return { streams, promptTokens, prompts };
}
