import { Command } from 'commander';
import type { Engine } from 'flinch';
import { elements, note, say } from 'flinch/internals';
import { thisMachine } from '../markdown-table.js';
import type { About } from '../records/run-settings.js';
import { commandLine } from './command-line.js';
import { evaluateRun } from './evaluate-run.js';
import { openJudge } from './judging.js';
import { formatPlan, planRun } from './plan/plan.js';
import { runOf, type Scope, withPrepared } from './prepare-run.js';
import type { PreparedRun } from './run-context.js';
import { checkRun, claimRun, makeFolder, openRecords, peekRecords } from './run-folder.js';
import { lockFolder } from './run-lock.js';
import {
  addRunOptions,
  DEFAULT_MEASURES,
  type GivenOptions,
  MEASURE_NAMES,
  OWN_MEASURES,
  type RunOptions,
  resolveOptions,
} from './run-options.js';
import { runStages } from './stages/stages.js';
import { printSummary } from './summary.js';

export function runCommand(): Command {
  const command = new Command('run').description(
    "Find out which measure finds a model's mistakes, on your own questions or on the paper's.",
  );
  return addRunOptions(command)
    .addHelpText(
      'after',
      `
Your own questions (--questions):
  rows have a question (or messages) and an answer; beside these an id, a group, a context, choices
  rows with a response, and right, steps or first_wrong, are not answered: their responses are scored
  answers are right if they are a choice, have the number, or contain the answer, as the columns suggest; --check says it
  a task is a YAML file with questions: FILE and, as needed, name, check, prompt and columns
  --limit draws a sample by --seed; --per-subset 50 stops at 50 wrong answers of each group

Measures:
  ${MEASURE_NAMES}
  settings follow a colon: adversarial:block=8,window=64 random:samples=40,sigma=1e-2
  by default for --questions: ${OWN_MEASURES}
  by default for --suite: ${DEFAULT_MEASURES.replaceAll(',', ', ')}
  self_consistency only with --score all, the table it is in
  processbench without graph and self_consistency, which draw further responses
  factscore with graph-claims in place of graph if there is a judge
  ccp, token_sar and graph use a named substitute if their model is not given

All results are written line by line to --out; after an interruption, the same command continues. Sampling depends on
--seed and the problem only. The last digits of the model's probabilities depend on the number of concurrent responses,
which can change a token in rare cases. With --streams 1, they do not.

Examples:
  $ flinch bench run --questions mine.csv --model ./model.gguf --out /tmp/mine
  $ flinch bench run --questions capitals.yaml --check exact --plan --out /tmp/c
  $ flinch bench run --suite tasks --limit 400 --score all --out /tmp/tasks
  $ flinch bench run --suite processbench --model ./Qwen2.5-7B-Instruct \\
      --data ./data --out /tmp/pb
  $ flinch bench run --suite math --model ./Llama-3.1-8B-Instruct \\
      --per-subset 50 --out /tmp/math \\
      --judge https://api.example.com/v1 --judge-model large
  $ flinch bench run --suite gsm8k --model ./Llama-3.1-8B-Instruct \\
      --per-subset 50 --out /tmp/gsm8k --label rollouts`,
    )
    .action(runBenchmark);
}

async function runBenchmark(given: GivenOptions): Promise<void> {
  const options = resolveOptions(given);
  const hint = given.plan ? 'no response was written' : 'the same command continues';
  await withPrepared(options, hint, (prepared, scope) =>
    given.plan ? plan(options, prepared, scope) : work(options, prepared, scope),
  );
}

async function plan(options: RunOptions, prepared: PreparedRun, { interrupt }: Scope): Promise<void> {
  const { out, stages, json } = options;
  checkRun(out, prepared.settings, prepared.problems);
  const opened = { records: await peekRecords(out), judge: null, signal: interrupt.signal };
  const planned = await planRun(runOf(prepared, options, opened), stages);
  say(`${json ? JSON.stringify(planned) : formatPlan(planned)}\n`);
}

async function work(options: RunOptions, prepared: PreparedRun, { interrupt, atEnd }: Scope): Promise<void> {
  const { out, stages, json = false } = options;
  const { signal } = interrupt;
  makeFolder(out);
  atEnd(await lockFolder(out, (error) => interrupt.abort(error)));
  claimRun(out, prepared.settings, await aboutOf(prepared.engine), prepared.problems);
  const records = await openRecords(out);
  const judge = openJudge(options, records.judge);
  const run = runOf(prepared, options, { records, judge: judge?.judge ?? null, signal });
  await runStages(run, stages);
  signal.throwIfAborted();
  if (judge) note(`${judge.usage()}\n`);
  if (stages.includes('evaluate')) printSummary(out, await evaluateRun(out, records), json);
}

async function aboutOf({ checkpoint }: Engine): Promise<About> {
  const { name, tensors } = checkpoint;
  const parameters = [...tensors.values()].reduce((sum, { shape }) => sum + elements(shape), 0);
  return {
    model: { name, parameters, embeddingRms: await checkpoint.embeddingRms() },
    command: commandLine('flinch bench', 'run'),
    machine: thisMachine(),
  };
}
