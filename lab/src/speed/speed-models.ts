import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { remark } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { checkpointOf, peersFolder } from '../peers/folder.js';
import { isSetUp, up } from '../peers/up.js';
import { openNodeLlama, openTorch } from './child-contestants.js';
import type { Contestant } from './contestant.js';
import { OFFLINE, openFlinch, openOffline } from './flinch-contestants.js';
import { SHAPES, writeRandomCheckpoint } from './random-checkpoint.js';
import { type GgufFormat, writeRandomGguf } from './random-gguf.js';
import { openServer, SERVED, SERVERS, type ServerName } from './server-contestants.js';

/** Work that all contestants do in turn. */
export interface Job {
  readonly streams: number;
  readonly promptTokens: number;
  /** Whether the time of the first token (where tokens are scored: of the first score) is measured, not the speed. */
  readonly first: boolean;
}

export const MODELS = ['135m', 'small', 'smollm2'] as const;
export type ModelName = (typeof MODELS)[number];

export const JOBS: Readonly<Record<ModelName, readonly Job[]>> = {
  '135m': randomJobs(2000),
  small: randomJobs(2000),
  smollm2: [1, SERVED.streams].map((streams) => ({ streams, promptTokens: 32, first: false })),
};

function randomJobs(longPrompt: number): Job[] {
  return [
    { streams: 1, promptTokens: 32, first: false },
    { streams: 16, promptTokens: 32, first: false },
    { streams: 1, promptTokens: longPrompt, first: true },
  ];
}

const SERVER_NAMES = Object.keys(SERVERS).filter((name): name is ServerName => name in SERVERS);
export const PEERS_OF = {
  '135m': ['llama', 'torch'],
  small: ['llama', 'torch'],
  smollm2: SERVER_NAMES,
} as const satisfies Record<ModelName, readonly string[]>;

export interface OpenOptions {
  readonly peers: readonly string[];
  readonly formats: readonly GgufFormat[];
  readonly python: string;
  /** Folder for files. */
  readonly temporary: string;
}

/** Opens them one after the other. */
export function openContestants(model: ModelName, options: OpenOptions): AsyncGenerator<Contestant[]> {
  return model === 'smollm2' ? openSmollm2(options) : openRandom(model, options);
}

/** How many {@link openContestants} opens at a time. */
export const stepsToOpen = (model: ModelName, { peers, formats }: OpenOptions): number =>
  model === 'smollm2' ? 2 + peers.length : 2 + 2 * formats.length;

async function* openSmollm2({ peers }: OpenOptions): AsyncGenerator<Contestant[]> {
  const model = checkpointOf('smollm2');
  yield openFlinch({ model, name: 'flinch', most: SERVED });
  yield [await openOffline(model, SERVED.context)];
  for (const peer of SERVER_NAMES.filter((name) => peers.includes(name))) {
    const server = await openServer(peer);
    server.turn(false);
    yield [server];
  }
}

const RANDOM = { context: 2304, streams: 16 };

/** The same files in flinch and in llama.cpp. Weights of 8 bits and less are written with in int8, as llama.cpp does. */
async function* openRandom(
  model: '135m' | 'small',
  { peers, formats, python, temporary }: OpenOptions,
): AsyncGenerator<Contestant[]> {
  const shape = SHAPES[model];
  const beside = peers.includes('llama');
  if (beside && !isSetUp(peersFolder(), 'node-llama-cpp'))
    await up(['node-llama-cpp'], { start: false, basePort: 0 });
  if (beside && !isSetUp(peersFolder(), 'node-llama-cpp'))
    throw new UsageError('node-llama-cpp could not be set up');
  for (const format of formats) {
    const file = join(temporary, `${format}.gguf`);
    await writeRandomGguf(file, shape, { format, seed: 1 });
    const reference = `llama.cpp, ${format}`;
    const precision = format === 'F32' ? 'fp32' : 'int8';
    const name = `flinch, ${format} in ${precision}`;
    const most = RANDOM;
    yield openFlinch({ model: file, name, most, precision, ...(beside && { reference }) });
    if (!beside) continue;
    const llama = await openNodeLlama(reference, file);
    llama.turn(false);
    yield [{ ...llama, reference }];
  }
  const folder = join(temporary, 'checkpoint');
  await mkdir(folder);
  await writeRandomCheckpoint(folder, shape, { type: 'fp32', seed: 1 });
  yield [{ ...(await openOffline(folder, RANDOM.context)), reference: OFFLINE }];
  if (!peers.includes('torch')) return;
  const torch = await openTorch(python, folder, OFFLINE);
  if (!torch) {
    remark(`${python} has no torch: PyTorch is left out (see --python)`);
    return;
  }
  torch.turn(false);
  yield [torch];
}
