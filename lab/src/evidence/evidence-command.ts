import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { real } from '#cli/options.js';
import { note, say } from '#cli/terminal.js';
import { readJsonFile } from '#src/files/json-text.js';
import { withTables } from '../page-tables.js';
import { type AnswerSet, answerSetSchema, collectAnswers, complete, joinSets } from './answer-set.js';
import { delayTable } from './delays.js';
import { written } from './evaluate.js';
import { choiceText, evidenceOf, evidenceTables } from './tables.js';

/**
 * `npm run lab -- evidence`: whether measures find the first wrong step, and which score of a step a guard should go by.
 */
export function evidenceCommand(): Command {
  return new Command('evidence')
    .description('Show what measures find in runs of flinch bench run, and choose the score of a step.')
    .addCommand(collectCommand())
    .addCommand(tablesCommand())
    .addCommand(delaysCommand());
}

const collectCommand = (): Command =>
  new Command('collect')
    .description('Add what the tables need of runs to a file. A run may be unfinished.')
    .argument(
      '<folders...>',
      'folders of flinch bench run that scored right responses, too, or shards of them; their names are those of the sets',
    )
    .requiredOption(
      '--output <file>',
      'file to write; answers and measures that it has of the same set are kept',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence collect runs/gsm8k runs/math --output /tmp/evidence.json',
    )
    .action(async (folders: string[], { output }: { output: string }) => {
      const sets = new Map<string, AnswerSet>();
      if (existsSync(output)) for (const set of readSets(output)) sets.set(set.name, set);
      for (const folder of folders) {
        const set = await collectAnswers(folder);
        const before = sets.get(set.name);
        const joined = before ? joinSets(before, set) : set;
        note(`${set.name}: ${joined.answers.length} answers\n`);
        sets.set(set.name, joined);
      }
      const lines = [...sets.values()].map(
        ({ answers, ...about }) =>
          `${JSON.stringify(about).slice(0, -1)},"answers":[\n${answers.map((answer) => JSON.stringify(answer)).join(',\n')}\n]}`,
      );
      await writeFile(output, `[\n${lines.join(',\n')}\n]\n`);
    });

const delaysCommand = (): Command =>
  new Command('delays')
    .description(
      'Print how many first wrong steps spikes and flags find, and after how many of their tokens.',
    )
    .argument('<folder>', 'folder of flinch bench run that scored right responses, too')
    .option(
      '--rate <share>',
      'share of the steps of right answers that each of the two may find',
      real(0, 1),
      0.05,
    )
    .addHelpText('after', '\nExample:\n  $ npm run lab -- evidence delays runs/gsm8k --rate 0.02')
    .action(async (folder: string, { rate }: { rate: number }) => say(`${await delayTable(folder, rate)}\n`));

const readSets = (file: string): AnswerSet[] => readJsonFile(file, z.array(answerSetSchema));

interface TablesOptions {
  readonly test: readonly string[];
  readonly into?: readonly string[];
  readonly json?: boolean;
}

const tablesCommand = (): Command =>
  new Command('tables')
    .description('Print the tables of a file of collect, or write them into pages.')
    .argument('<file>', 'file of collect')
    .option('--test <sets...>', 'sets to test the choice on; it is made on the others', [])
    .option('--into <pages...>', 'Markdown pages; a table replaces the one after its comment')
    .option('--json', 'print the choice and all scores of a step as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence tables lab/data/pretrained.json --test qwen-0.5b-math-read',
    )
    .action(async (file: string, { test, into, json }: TablesOptions) => {
      const sets = readSets(file).map(complete);
      const evidence = evidenceOf(sets, test);
      const { choice, evaluated } = evidence;
      if (json) {
        const plain = evaluated.map(({ detections, ...set }) => ({
          ...set,
          detections: detections.map(written),
        }));
        say(`${JSON.stringify({ choice, sets: plain })}\n`);
        return;
      }
      const tables = evidenceTables(sets, evidence);
      for (const page of into ?? []) await writeFile(page, withTables(await readFile(page, 'utf8'), tables));
      if (!into) for (const [name, text] of tables) say(`${name}\n\n${text}\n\n`);
      say(`${choiceText(choice)}\n`);
    });
