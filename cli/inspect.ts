import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import type { ModelConfig } from '../src/checkpoint/config.js';
import { type MachineSpeed, measureMachine } from '../src/cost/machine-speed.js';
import { type ResponseCost, type ResponseSize, responseCost } from '../src/cost/response-cost.js';
import { measureWriting, type WritingSpeed } from '../src/cost/writing-speed.js';
import { Engine } from '../src/engine/engine.js';
import { integerBytes } from '../src/engine/integer-weights.js';
import {
  decodeMemory,
  gpuWeights,
  type MemoryNeed,
  type ScoreSize,
  scoreMemory,
} from '../src/engine/memory.js';
import { PRECISIONS } from '../src/engine/precision.js';
import { UsageError } from '../src/files/errors.js';
import { visibleLine } from '../src/files/visible.js';
import { PROBABILITY_METHODS } from '../src/uncertainty/method-names.js';
import { DEFAULT_BLOCK, DEFAULT_RANDOM, DEFAULT_TOKUR, DEFAULT_WINDOW } from '../src/uncertainty/settings.js';
import { reportOpening } from './conversion.js';
import { formatBytes, heading, priceOf } from './format.js';
import { localModel } from './local-model.js';
import { type CalibrationPlace, type ModelFacts, readModelFacts } from './model-facts.js';
import { integer, real } from './options.js';
import { say } from './terminal.js';

/** Of a token, by the estimate: a slower model is not opened to be measured. */
const MOST_SECONDS = 0.1;

interface InspectOptions {
  readonly length?: number;
  readonly time?: boolean;
  readonly prompt: number;
  readonly gflops?: number;
  readonly bandwidth?: number;
  readonly json?: boolean;
}

export function inspectCommand(): Command {
  return new Command('inspect')
    .argument('<model>', 'checkpoint folder, GGUF file, config.json, or OWNER/NAME of the hub')
    .option(
      '--length <tokens>',
      'length of prompt plus response (default: the context length, at most 1024)',
      integer(2, 1 << 20),
    )
    .option(
      '--time',
      'estimate the time of one response from the speed of this machine, and measure how fast it is written',
    )
    .option('--prompt <tokens>', 'prompt tokens within --length, for --time', integer(1, 1 << 20), 200)
    .option('--gflops <number>', 'compute speed in GFLOP/s, instead of measuring it', real(0.001, 1e9))
    .option('--bandwidth <number>', 'memory bandwidth in GB/s, instead of measuring it', real(0.001, 1e6))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ flinch inspect models/reasoner --length 512
  $ flinch inspect models/reasoner --length 300 --time
  $ flinch inspect ~/Llama-3.1-8B-Instruct/config.json --length 1000 --gflops 60000 --bandwidth 3300`,
    )
    .action(inspect);
}

/** @throws ModelError; UsageError */
export async function inspect(model: string, options: InspectOptions): Promise<void> {
  const path = await localModel(model, 'flinch inspect');
  const facts = await readModelFacts(path);
  const { config } = facts;
  const positions = options.length ?? Math.min(config.maxPositions, 1024);
  const memory = memoryOf(config, positions);
  const time = await timeOf(path, facts, positions, options);
  if (options.json) {
    const { files, integers, float8: _, ...rest } = facts;
    const precisions = {
      decode: PRECISIONS,
      score: ['fp32'],
      integerBytes: integers ? null : integerBytes(config),
    };
    const all = { ...rest, ...files, precisions, memory, gpu: gpuOf(facts), ...(time && { time }) };
    say(`${JSON.stringify(all)}\n`);
    return;
  }
  const needed = ({ kept, run }: MemoryNeed): string =>
    `${formatBytes(kept)} + ${formatBytes(run)} during a run`;
  const memoryRows: [string, string][] = [
    ['write', needed(memory.decode)],
    [`score, block ${DEFAULT_BLOCK}, window ${DEFAULT_WINDOW}`, needed(memory.windowed)],
    [`score, random, ${DEFAULT_RANDOM.samples} samples`, needed(memory.random)],
    ['score, offline', needed(memory.offline)],
  ];
  say(`${heading(facts.name)}  ${visibleLine(facts.dir)}\n${table(rowsOf(facts))}\n`);
  say(`${heading(`Private memory for a text of ${positions} tokens`)} (estimate)\n${table(memoryRows)}\n`);
  if (time) say(`${formatTime(time)}\n`);
}

/** By the default measures, for a text of so many tokens. */
export function memoryOf(config: ModelConfig, positions: number) {
  const threads = availableParallelism();
  const score = (size: ScoreSize): MemoryNeed => scoreMemory({ config, threads }, size);
  return {
    length: positions,
    threads,
    decode: decodeMemory({ config, threads }, positions),
    windowed: score({ positions, window: DEFAULT_WINDOW, scored: DEFAULT_BLOCK, replicas: 0 }),
    random: score({ positions, window: 1, scored: DEFAULT_BLOCK, replicas: DEFAULT_RANDOM.samples }),
    offline: score({ positions, window: positions, scored: positions, replicas: 0 }),
  };
}

interface Time {
  readonly size: ResponseSize;
  readonly machine: MachineSpeed;
  readonly seconds: ResponseCost;
  /** `null` for a model that is not there, or too slow, and where the speed of the machine was given. */
  readonly writing: WritingSpeed | null;
}

async function timeOf(
  model: string,
  { config, weightBytes, files }: ModelFacts,
  length: number,
  { time, prompt, gflops, bandwidth }: InspectOptions,
): Promise<Time | null> {
  if (!time && gflops === undefined && bandwidth === undefined) return null;
  if (prompt >= length) throw new UsageError(`--prompt: ${prompt} leaves nothing of a text of ${length}`);
  const known = gflops !== undefined && bandwidth !== undefined;
  const measured = known ? null : await measureMachine(availableParallelism());
  const machine = {
    flops: gflops === undefined ? (measured?.flops ?? 0) : gflops * 1e9,
    bandwidth: bandwidth === undefined ? (measured?.bandwidth ?? 0) : bandwidth * 1e9,
  };
  const size = { prompt, response: length - prompt };
  const seconds = responseCost(config, weightBytes, size, machine);
  const isQuick = seconds.generate < size.response * MOST_SECONDS;
  const writing = isQuick && files && gflops === undefined && bandwidth === undefined;
  return { size, machine, seconds, writing: writing ? await writingOf(model) : null };
}

async function writingOf(model: string): Promise<WritingSpeed> {
  const engine = await Engine.open(model, reportOpening());
  try {
    await engine.start(['decode', 'score']);
    return await measureWriting(engine);
  } finally {
    await engine.close();
  }
}

function rowsOf(facts: ModelFacts): [string, string][] {
  const { config, parameters, types, integers, float8, weightBytes, gguf, quantized, files } = facts;
  const stored = [...(integers ? ['integers'] : []), ...(float8 ? ['FP8'] : []), ...types];
  const millions = parameters / 1e6;
  const vocabulary = files
    ? `${config.vocabSize} rows, ${files.tokens} tokens, ends with ${files.ends.join(' or ') || 'nothing'}`
    : `${config.vocabSize} rows`;
  const rows: [string, string][] = [
    [
      'architecture',
      `${config.family}, ${config.layers} layers, hidden ${config.hiddenSize}, feed-forward ${config.intermediateSize}`,
    ],
    [
      'attention',
      `${config.heads} heads of ${config.headDim}, ${config.kvHeads} for keys and values${windowsOf(config)}`,
    ],
    ['rotation', rotationOf(config)],
    [
      'parameters',
      `${millions < 1000 ? `${millions.toFixed(2)} M` : `${(millions / 1000).toFixed(2)} B`}, stored as ${stored.join(', ')}`,
    ],
    ['vocabulary', vocabulary],
  ];
  if (gguf) {
    const tensors = Object.entries(gguf.types).map(([type, count]) => `${count} ${type}`);
    rows.push(['GGUF', `tensors ${tensors.join(', ')}; ${gguf.bitsPerWeight.toFixed(2)} bits a weight`]);
  }
  if (quantized) {
    const { format, matrices, bitsPerWeight } = quantized;
    const share = `${matrices[0]} of ${matrices[1]} matrices`;
    rows.push(['quantised', `${format}; ${share}; ${bitsPerWeight.toFixed(2)} bits a weight`]);
  }
  if (files?.embeddingRms) rows.push(['embeddings', `root mean square ${files.embeddingRms.toPrecision(4)}`]);
  const { scaling } = config.ropes[0]!;
  const limit = scaling?.type === 'longrope' ? ' (long_factor, for longer texts, is not supported)' : '';
  rows.push(['context', `${config.maxPositions} positions${limit}`]);
  if (files) rows.push(['chat template', files.chatTemplate ? 'yes' : 'none (raw prompts only)']);
  for (const warning of files?.warnings ?? []) rows.push(['warning', warning]);
  const converted = integers || float8 ? '; what graphs cannot read as stored is converted once' : '';
  rows.push([
    'weights',
    `${formatBytes(weightBytes)}, mapped from files and shared by both processes${converted}`,
  ]);
  if (files) rows.push(['calibration', CALIBRATIONS[files.calibration]]);
  const { webgpu, cuda } = gpuOf(facts);
  rows.push([
    'on a GPU',
    `weights of ${formatBytes(webgpu)} with WebGPU, ${formatBytes(cuda)} with CUDA, for the default measures`,
  ]);
  rows.push([
    'precision',
    integers
      ? 'writes in int8 on a CPU (integers as stored, in memory of its own), or in fp32; passes that score in fp32'
      : `writes in ${float8 ? 'int8 on a CPU' : 'fp32, or in int8'} (at least ${formatBytes(integerBytes(config))} more, of its own)${float8 ? ', or in fp32' : ''}; passes that score in fp32`,
  ]);
  return rows;
}

const CALIBRATIONS: Readonly<Record<CalibrationPlace, string>> = {
  own: 'its own, beside it',
  'of another model': 'the one beside it is of another model',
  shipped: 'shipped for this model',
  none: 'none (flinch calibrate makes one)',
  unknown: 'known once the weights are converted',
};

const gpuOf = ({ weightBytes, parameters, types, integers, float8 }: ModelFacts) =>
  gpuWeights(weightBytes, { parameters, widened: float8 || (!integers && types.includes('bf16')) });

function windowsOf({ slidingWindow, layers }: ModelConfig): string {
  const windows = slidingWindow.filter((window) => window !== null);
  return windows.length === 0
    ? ''
    : `; the last ${windows[0]} positions in ${windows.length} of ${layers} layers`;
}

function rotationOf({ ropes, layerRopes, headDim, layers }: ModelConfig): string {
  const parts = ropes.map(({ theta, dimensions, scaling }, i) => {
    const scaled = scaling ? `, ${scaling.type}` : '';
    const share = dimensions === headDim ? '' : `, ${dimensions} of ${headDim} dimensions`;
    return `θ ${theta}${scaled}${share}${i === 1 ? ' in layers with a window' : ''}`;
  });
  const without = layerRopes.filter((rope) => rope === null).length;
  return [...parts, ...(without > 0 ? [`none in ${without} of ${layers} layers`] : [])].join('; ');
}

function formatTime({ size, machine, seconds, writing }: Time): string {
  const speed = `${(machine.flops / 1e9).toFixed(0)} GFLOP/s, ${(machine.bandwidth / 1e9).toFixed(1)} GB/s`;
  const rows: [string, string][] = [
    ['write', seconds.generate],
    [PROBABILITY_METHODS.join(', '), seconds.probability],
    ['adversarial, offline', seconds.adversarial],
    [`random, ${DEFAULT_RANDOM.samples} samples`, seconds.random],
    [`tokur, ${DEFAULT_TOKUR.samples} samples`, seconds.tokur],
  ].map(([name, value]) => [String(name), formatSeconds(Number(value))]);
  const title = heading(`Time of a prompt of ${size.prompt} and a response of ${size.response} tokens`);
  const measured = writing && `\n${heading('One stream')} (measured): ${priceOf(writing)}`;
  return `${title} (estimate, at least; ${speed})\n${table(rows)}${measured ?? ''}`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 0.01) return `${(1000 * seconds).toPrecision(2)} ms`;
  if (seconds < 99.5) return `${seconds.toPrecision(2)} s`;
  const minutes = seconds / 60;
  return `${minutes.toFixed(minutes < 10 ? 1 : 0)} min`;
}

function table(rows: readonly [string, string][]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${visibleLine(value)}`).join('\n');
}
