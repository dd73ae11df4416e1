import { readFile, writeFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { defaultDataFolder } from '#bench/data/folder.js';
import type { Measure } from '#bench/measures/measure.js';
import { claimFolder } from '#bench/result-log.js';
import { interruptible } from '#bench/run/interrupt.js';
import { hasRecords } from '#bench/run/run-folder.js';
import { measures } from '#bench/run/run-options.js';
import { integer, real } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { Engine } from '#src/engine/engine.js';
import { UsageError } from '#src/files/errors.js';
import { readJsonFile } from '#src/files/json-text.js';
import { withTables } from '../page-tables.js';
import { readFolder } from './records.js';
import { rocFigure } from './roc.js';
import { unitsOfRun } from './run-units.js';
import { scoreAnswers } from './score.js';
import { smallModelsTables } from './tables.js';
import { TASK_NAMES, TASKS, type TaskName } from './tasks.js';
import { unitSetSchema, unitsOfSteps } from './units.js';
import { writeAnswers } from './write.js';

/** `npm run lab -- small-models`: the data of docs/results/small-models.md, step by step. */
export function smallModelsCommand(): Command {
  return new Command('small-models')
    .description('Measure how well uncertainty finds the mistakes of pretrained models.')
    .addCommand(writeCommand())
    .addCommand(scoreCommand())
    .addCommand(collectCommand())
    .addCommand(tablesCommand());
}

interface WriteOptions {
  readonly task: TaskName;
  readonly model: string;
  readonly out: string;
  readonly server?: string;
  readonly checkpoint?: string;
  readonly temperature: number;
  readonly limit: number;
  readonly streams: number;
  readonly data: string;
}

const dataOption = (): Option =>
  new Option('--data <folder>', 'folder of the data sets').default(
    defaultDataFolder(),
    'that of flinch data pull',
  );
const limitOption = (): Option =>
  new Option('--limit <number>', 'number of problems, the first ones')
    .argParser(integer(1, 1e6))
    .default(150);

const writeCommand = (): Command =>
  new Command('write')
    .description('Have a server write answers, or take those that are given.')
    .addOption(new Option('--task <name>', 'task').choices(TASK_NAMES).makeOptionMandatory())
    .requiredOption('--model <name>', 'name of the model at the server')
    .requiredOption('--out <folder>', 'folder for the results; an interrupted run continues there')
    .option('--server <url>', 'OpenAI-compatible server, including /v1; not needed for given answers')
    .option(
      '--checkpoint <folder>',
      "the served checkpoint, to prompt by token ids; without it the server's log-probabilities are the scores",
    )
    .option('--temperature <number>', 'sampling temperature', real(0, 2), 0)
    .addOption(limitOption())
    .option('--streams <number>', 'concurrent requests', integer(1, 64), 8)
    .addOption(dataOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- small-models write --task equations --model smollm2 --server http://127.0.0.1:8118/v1 \\\n      --checkpoint models/smollm2 --out runs/equations',
    )
    .action(async (options: WriteOptions) => {
      const { task, model, out, server, checkpoint, temperature, limit, streams, data } = options;
      const problems = (await TASKS[task].load(data)).slice(0, limit);
      const given = problems.some((problem) => problem.given);
      const settings = { task, model, temperature: given ? null : temperature };
      claimFolder(out, settings);
      await interruptible('the same command continues', ({ signal }) =>
        writeAnswers({
          folder: out,
          settings,
          problems,
          streams,
          signal,
          url: server ?? null,
          checkpoint: checkpoint ?? null,
        }),
      );
    });

interface ScoreOptions {
  readonly checkpoint: string;
  readonly measures: Measure[];
  readonly limit: number;
  readonly threads: number;
  readonly data: string;
}

const scoreCommand = (): Command =>
  new Command('score')
    .description('Score the answers in the folders of write with the checkpoint that wrote or reads them.')
    .argument('<folders...>', 'folders of write')
    .requiredOption('--checkpoint <folder>', 'checkpoint')
    .addOption(
      new Option('--measures <names>', 'comma-separated measures, as for flinch bench run')
        .argParser(measures)
        .makeOptionMandatory(),
    )
    .addOption(limitOption())
    .option('--threads <number>', 'threads of the score process', integer(1, 256), 1)
    .addOption(dataOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- small-models score runs/equations --checkpoint models/smollm2 --measures adversarial,nll',
    )
    .action(async (folders: string[], options: ScoreOptions) => {
      const { checkpoint, measures, limit, threads, data } = options;
      const further = measures.find((measure) => 'samples' in measure);
      if (further) throw new UsageError(`--measures: ${further.name} needs further answers`);
      const engine = await Engine.open(checkpoint, { threads });
      try {
        await interruptible('the same command continues', async ({ signal }) => {
          for (const folder of folders) {
            const problems = (await TASKS[readFolder(folder).task].load(data)).slice(0, limit);
            await scoreAnswers({ folder, problems, measures, engine, signal });
          }
        });
      } finally {
        await engine.close();
      }
    });

const collectCommand = (): Command =>
  new Command('collect')
    .description('Write labels and scores of all folders to one file.')
    .argument(
      '<folders...>',
      'folders of write and score, or of flinch bench run --suite questions --score all',
    )
    .requiredOption('--output <file>', 'file to write')
    .addOption(dataOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- small-models collect runs/equations --output /tmp/small-models.json',
    )
    .action(async (folders: string[], { output, data }: { output: string; data: string }) => {
      const sets = [];
      for (const folder of folders)
        sets.push(await (hasRecords(folder, 'responses') ? unitsOfRun(folder) : unitsOfSteps(folder, data)));
      const lines = sets.map(
        ({ units, ...about }) =>
          `${JSON.stringify(about).slice(0, -1)},"units":[\n${units.map((unit) => JSON.stringify(unit)).join(',\n')}\n]}`,
      );
      await writeFile(output, `[\n${lines.join(',\n')}\n]\n`);
    });

const tablesCommand = (): Command =>
  new Command('tables')
    .description('Print the tables of a file of collect, or write them into pages.')
    .argument('<file>', 'file of collect')
    .option('--into <pages...>', 'Markdown pages; a table replaces the one after its comment')
    .option('--roc <file>', 'SVG file to write with the ROC curves')
    .addHelpText('after', '\nExample:\n  $ npm run lab -- small-models tables lab/data/small-models.json')
    .action(async (file: string, { into, roc }: { into?: string[]; roc?: string }) => {
      const sets = readJsonFile(file, z.array(unitSetSchema));
      if (roc) await writeFile(roc, await rocFigure(sets));
      const tables = smallModelsTables(sets);
      for (const page of into ?? []) await writeFile(page, withTables(await readFile(page, 'utf8'), tables));
      if (into) return;
      for (const [name, text] of tables) say(`${name}\n\n${text}\n\n`);
    });
