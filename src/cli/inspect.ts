import { Command } from 'commander';
import { defaultThreads } from '../engine/engine.js';
import { decodeMemory, type MemoryNeed, type ScoreSize, scoreMemory } from '../engine/memory.js';
import { openCheckpoint } from '../model/checkpoint.js';
import { DEFAULT_BLOCK, DEFAULT_RANDOM, DEFAULT_WINDOW } from '../uncertainty/settings.js';
import { integer } from './options.js';
import { formatBytes, heading } from './report.js';

interface InspectOptions {
  readonly length?: number;
  readonly json?: boolean;
}

export function inspectCommand(): Command {
  return new Command('inspect')
    .description('Show what a checkpoint is and the memory that it needs.')
    .argument('<model>', 'checkpoint folder')
    .option('--length <tokens>', 'length of the text, prompt and response', integer(2, 1 << 20))
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  $ flinch inspect models/reasoner --length 512')
    .action(inspect);
}

async function inspect(folder: string, { length, json }: InspectOptions): Promise<void> {
  const checkpoint = await openCheckpoint(folder);
  const { name, dir, config, tensors, tokenizer, eosTokenIds, chatTemplate, weightBytes } = checkpoint;
  const embeddingRms = await checkpoint.embeddingRms();
  const parameters = [...tensors.values()].reduce(
    (sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1),
    0,
  );
  const positions = length ?? Math.min(config.maxPositions, 1024);
  const threads = defaultThreads();
  const score = (size: ScoreSize): MemoryNeed => scoreMemory({ config, threads: threads.score }, size);
  const memory = {
    length: positions,
    threads,
    decode: decodeMemory({ config, threads: threads.decode }, positions),
    windowed: score({ positions, window: DEFAULT_WINDOW, scored: DEFAULT_BLOCK, lanes: 0 }),
    random: score({ positions, window: 1, scored: DEFAULT_BLOCK, lanes: DEFAULT_RANDOM.samples }),
    offline: score({ positions, window: positions, scored: positions, lanes: 0 }),
  };
  const types = [...new Set([...tensors.values()].map(({ type }) => type))];
  if (json) {
    const facts = {
      name,
      dir,
      parameters,
      weightBytes,
      types,
      embeddingRms,
      config,
      eosTokenIds,
      chatTemplate: chatTemplate.source !== null,
    };
    process.stdout.write(`${JSON.stringify({ ...facts, memory })}\n`);
    return;
  }
  const rows: [string, string][] = [
    [
      'architecture',
      `${config.family}, ${config.layers} layers, hidden ${config.hiddenSize}, feed-forward ${config.intermediateSize}`,
    ],
    ['attention', `${config.heads} heads of ${config.headDim}, ${config.kvHeads} for keys and values`],
    ['parameters', `${(parameters / 1e6).toFixed(2)} M, stored as ${types.join(', ')}`],
    [
      'vocabulary',
      `${config.vocabSize} rows, ${tokenizer.size} tokens, ends with ${eosTokenIds.map((id) => tokenizer.tokenText(id)).join(' or ') || 'nothing'}`,
    ],
    ['embeddings', `root mean square ${embeddingRms.toPrecision(4)}`],
    ['context', `${config.maxPositions} positions`],
    ['chat template', chatTemplate.source !== null ? 'yes' : 'none: only raw prompts'],
    ['weights', `${formatBytes(weightBytes)}, mapped from the files and shared by both processes`],
  ];
  const needed = ({ kept, run }: MemoryNeed): string =>
    `${formatBytes(kept)} + ${formatBytes(run)} for a run`;
  const memoryRows: [string, string][] = [
    ['write', needed(memory.decode)],
    [`score, block ${DEFAULT_BLOCK}, window ${DEFAULT_WINDOW}`, needed(memory.windowed)],
    [`score, random, ${DEFAULT_RANDOM.samples} samples`, needed(memory.random)],
    ['score, offline', needed(memory.offline)],
  ];
  process.stdout.write(`${heading(name)}  ${dir}\n${table(rows)}\n`);
  process.stdout.write(
    `${heading(`Private memory for a text of ${positions} tokens`)} (estimate)\n${table(memoryRows)}\n`,
  );
}

function table(rows: readonly [string, string][]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n');
}
