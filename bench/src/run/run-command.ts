import { Command } from 'commander';
import type { Engine } from 'flinch';
import { elements, note } from 'flinch/internals';
import { thisMachine } from '../markdown-table.js';
import type { About } from '../records/settings.js';
import { noteStages } from './asked-stages.js';
import { commandLine } from './command-line.js';
import { evaluateRun } from './evaluate-run.js';
import { lockFolder } from './folder-lock.js';
import { openJudge } from './judging.js';
import { begin } from './plan/begin.js';
import { FEW, planRun } from './plan/plan.js';
import { type Prepared, runOf, type Scope, withPrepared } from './prepare.js';
import { claimRun, isRun, makeFolder, openRecords } from './run-folder.js';
import {
  addRunOptions,
  DEFAULT_MEASURES,
  type GivenOptions,
  MEASURE_NAMES,
  OWN_MEASURES,
  type RunOptions,
  resolveOptions,
} from './run-options.js';
import { adoptDevice, checkShard, markFinished, openShard, shardFolder } from './shards.js';
import { runStages } from './stages/stages.js';
import { printShard, printSummary } from './summary.js';

export function runCommand(): Command {
  const command = new Command('run').description(
    "Find out which measure finds a model's mistakes, on your own questions or on the paper's.",
  );
  return addRunOptions(command)
    .option('--yes', 'begin without asking, however long the run is going to take')
    .addHelpText(
      'after',
      `
Your own questions (--questions):
  rows have a question (or messages) and an answer; beside these an id, a group, a context, choices
  rows with a response, and right, steps or first_wrong, are not answered: their responses are scored
  answers are right if they are a choice, have the number, or contain the answer, as the columns suggest; --check says it
  a command gets {"id", "question", "answers", "choices", "context", "response"} as its input and prints right, wrong, or {"right": true}
  a task is a YAML file with questions: FILE and, as needed, name, check, prompt and columns
  --limit draws a sample by --seed; --per-subset 50 stops at 50 wrong answers of each group

Measures:
  ${MEASURE_NAMES}
  settings follow a colon: adversarial:block=8,window=64 random:samples=40,sigma=1e-2
  by default ${OWN_MEASURES} for --questions, and for --suite
  ${DEFAULT_MEASURES};
  self_consistency only with --score all, the table it is in; processbench without graph and self_consistency, which draw
  further responses; factscore with graph-claims in place of graph if there is a judge
  ccp, token_sar and graph use a named substitute if their model is not given

A run begins with its plan (flinch bench plan). On a terminal it asks before more than an hour; elsewhere it begins.
All results are written line by line to --out; after an interruption, the same command continues. Sampling depends on
--seed and the problem only. The last digits of the model's probabilities depend on the number of concurrent responses,
which can change a token in rare cases. With --streams 1, they do not.

Examples:
  $ flinch bench run --questions questions.csv --model ./model.gguf --out /tmp/mine
  $ flinch bench run --questions german.csv --columns question=Frage,answer=Antwort --check exact --out /tmp/german
  $ flinch bench run --suite tasks --limit 400 --score all --out /tmp/tasks
  $ flinch bench run --suite processbench --model ./Qwen2.5-7B-Instruct --data ./data --out /tmp/pb
  $ flinch bench run --suite math --model ./Llama-3.1-8B-Instruct --per-subset 50 --out /tmp/math \\
      --judge https://api.example.com/v1 --judge-model large
  $ flinch bench run --suite gsm8k --model ./Llama-3.1-8B-Instruct --per-subset 50 --out /tmp/gsm8k --label rollouts
  $ flinch bench run --suite tasks --limit 4000 --shard 1/2 --out /tmp/tasks`,
    )
    .action(runBenchmark);
}

async function runBenchmark(given: GivenOptions): Promise<void> {
  const options = resolveOptions(given);
  await withPrepared(options, 'the same command continues', (prepared, scope) =>
    work(options, prepared, scope),
  );
}

async function work(options: RunOptions, prepared: Prepared, { interrupt, atEnd }: Scope): Promise<void> {
  const { out, stages, shard } = options;
  const { signal } = interrupt;
  const folder = shard ? shardFolder(out, shard) : out;
  if (shard && isRun(out)) checkShard(out, prepared.settings, stages.includes('score'));
  makeFolder(folder);
  atEnd(await lockFolder(folder, (error) => interrupt.abort(error)));
  if (shard) adoptDevice(folder, prepared.settings);
  const settings = claimRun(folder, prepared.settings, await aboutOf(prepared.engine), prepared.problems);
  markFinished(folder, null);
  noteStages(folder, stages);
  const { records, refresh } = shard ? await openShard(out, shard) : await openWhole(out);
  const judge = openJudge(options, records.judge);
  const run = runOf(prepared, settings, options, { records, refresh, judge: judge?.judge ?? null, signal });
  await begin(await planRun(run, stages, { folder: out, few: FEW }), options, signal);
  await runStages(run, stages);
  signal.throwIfAborted();
  if (judge) note(`${judge.usage()}\n`);
  if (shard) {
    markFinished(folder, stages);
    printShard(out, shard, options.json ?? false);
  } else if (stages.includes('evaluate')) {
    printSummary(out, await evaluateRun(out, records), options.json ?? false);
  }
}

const openWhole = async (folder: string) => ({
  records: await openRecords(folder),
  refresh: async (): Promise<void> => {},
});

async function aboutOf({ checkpoint }: Engine): Promise<About> {
  const { name, tensors } = checkpoint;
  const parameters = [...tensors.values()].reduce((sum, { shape }) => sum + elements(shape), 0);
  return {
    model: { name, parameters, embeddingRms: await checkpoint.embeddingRms() },
    command: commandLine('flinch bench', 'run'),
    machine: thisMachine(),
  };
}
