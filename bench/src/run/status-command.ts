import { Command } from 'commander';
import { say, UsageError } from 'flinch/internals';
import type { Shard } from '../records/settings.js';
import { suiteOf } from '../suites/suites.js';
import { askedStages } from './asked-stages.js';
import { workerIn } from './folder-lock.js';
import { formatWork } from './plan/plan.js';
import { plannedWork, type StageWork } from './plan/planned-work.js';
import { isRun, peekRecords, type RunRecords, readRun } from './run-folder.js';
import { finishedStages, learn, nameOf, shardFolder, shardFolders } from './shards.js';

interface StatusOptions {
  readonly json?: boolean;
}

export function statusCommand(): Command {
  return new Command('status')
    .description('Say how far a run is, with all of its shards.')
    .argument('<folder>', 'folder of the run: --out')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Reads only, so that it can be asked at any time. Lists the stages that the run was asked for with --stages. What depends on the answers to come is an expectation, with its bounds in
brackets.

Example:
  $ flinch bench status /tmp/tasks`,
    )
    .action(status);
}

/** State of a shard, from its own folder. */
interface ShardStatus {
  readonly shard: Shard;
  readonly state: 'not begun' | 'running' | 'finished' | 'stopped';
  /** Process that runs it, as `process on host`. */
  readonly by?: string;
  /** Stages of its last run, once it is finished. */
  readonly stages?: readonly string[];
  readonly done: Readonly<Record<string, number>>;
}

async function status(folder: string, { json = false }: StatusOptions): Promise<void> {
  const begun = shardFolders(folder).filter((shard) => isRun(shard.folder));
  const place = isRun(folder) ? folder : begun[0]?.folder;
  if (place === undefined) throw new UsageError(`${folder}: is not a run folder of flinch bench`);
  const { settings, about, problems } = await readRun(place);
  const records = await peekRecords(folder);
  const shards: ShardStatus[] = [];
  for (const of of new Set(begun.map(({ shard }) => shard.of))) {
    for (let index = 0; index < of; index += 1)
      shards.push(await shardStatus(folder, { index, of }, records));
  }
  const suite = suiteOf(settings);
  const run = { suite, problems, isMine: () => true, settings, records, timed: 0 };
  const stages = plannedWork(run, askedStages([folder, ...begun.map((one) => one.folder)]));
  const told = {
    suite: settings.task?.name ?? suite.name,
    model: about.model.name,
    problems: problems.length,
    stages,
    shards,
  };
  say(`${json ? JSON.stringify(told) : format(told)}\n`);
}

async function shardStatus(folder: string, shard: Shard, all: RunRecords): Promise<ShardStatus> {
  const own = shardFolder(folder, shard);
  const records = await peekRecords(own);
  learn(all, records);
  const { responses, checks, located, claims, samples, graphs, scored } = records;
  const counts = {
    generate: responses.size,
    check: checks.size,
    locate: located.size,
    claims: claims.size,
    sample: samples.size,
    graph: graphs.size,
    score: scored.size,
  };
  const done = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  const worker = workerIn(own);
  const stages = finishedStages(own);
  if (worker) return { shard, state: 'running', by: `process ${worker.pid} on ${worker.host}`, done };
  if (stages) return { shard, state: 'finished', stages, done };
  return { shard, state: isRun(own) ? 'stopped' : 'not begun', done };
}

interface Status {
  readonly suite: string;
  readonly model: string;
  readonly problems: number;
  readonly stages: readonly StageWork[];
  readonly shards: readonly ShardStatus[];
}

function format({ suite, model, problems, stages, shards }: Status): string {
  const rows = shards.map(({ shard, state, by, done }) => {
    const counts = Object.entries(done).map(([stage, count]) => `${stage} ${count}`);
    return `  ${[nameOf(shard), by ? `${state}, ${by}` : state, ...counts].join('  ')}`;
  });
  return [
    `${problems} problems of ${suite}, ${model}; left to do:`,
    ...stages.map((stage) => `  ${stage.stage.padEnd(8)}  ${formatWork(stage)}`),
    ...rows,
  ].join('\n');
}
