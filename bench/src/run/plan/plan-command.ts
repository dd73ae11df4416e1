import { Command } from 'commander';
import { say } from 'flinch/internals';
import { writeWhole } from '../../result-log.js';
import { runOf, withPrepared } from '../prepare.js';
import { peekRecords, settingsIn } from '../run-folder.js';
import { addRunOptions, type GivenOptions, resolveOptions } from '../run-options.js';
import { learn, shardFolder } from '../shards.js';
import { formatPlan, planRun } from './plan.js';
import { plannedRequests, requestLine } from './requests.js';

export function planCommand(): Command {
  const command = new Command('plan').description(
    'Say what flinch bench run with the same options would do, by stage, with time and memory.',
  );
  return addRunOptions(command)
    .option(
      '--requests <file>',
      'write the requests for the next responses there, for a writer that runs offline',
    )
    .addHelpText(
      'after',
      `
Counts what is left to do in --out, and measures the speed by a few short responses, which are thrown away. Writes nothing
but the file of --requests, and the speed to --out: a run there does not measure it again.
Numbers that depend on what the model answers are expectations, with their bounds in brackets.

Examples:
  $ flinch bench plan --suite tasks --limit 400 --out /tmp/tasks
  $ flinch bench plan --suite math --model ./Llama-3.1-8B-Instruct --per-subset 50 --out /tmp/math \\
      --judge https://api.example.com/v1 --judge-model large`,
    )
    .action(plan);
}

interface PlanOptions extends GivenOptions {
  readonly requests?: string;
}

async function plan(given: PlanOptions): Promise<void> {
  const options = resolveOptions(given);
  await withPrepared(options, 'no response was written', async (prepared, { interrupt }) => {
    const { out, shard } = options;
    const folder = shard ? shardFolder(out, shard) : out;
    const settings = settingsIn(folder, prepared.settings, prepared.problems);
    const records = await peekRecords(out);
    if (shard) learn(records, await peekRecords(folder));
    const { signal } = interrupt;
    const run = runOf(prepared, settings, options, { records, refresh: async () => {}, judge: null, signal });
    if (given.requests !== undefined)
      writeWhole(given.requests, plannedRequests(run).map(requestLine).join(''));
    const planned = await planRun(run, options.stages, { folder: out });
    say(`${options.json ? JSON.stringify(planned) : formatPlan(planned)}\n`);
  });
}
