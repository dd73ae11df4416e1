import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { note, say } from '#cli/terminal.js';
import { readJsonFile } from '#src/files/json-text.js';
import { answerSetSchema, collectAnswers } from './answer-set.js';
import { withTables } from './page-tables.js';
import { choiceText, evidenceOf, evidenceTables } from './tables.js';

/** `npm run lab -- evidence`: which score of a step finds the first wrong one. */
export function evidenceCommand(): Command {
  return new Command('evidence')
    .description('Show what measures find in runs of flinch bench run, and choose the score of a step.')
    .addCommand(collectCommand())
    .addCommand(tablesCommand());
}

const collectCommand = (): Command =>
  new Command('collect')
    .description('Write what the tables need of runs to a file. A run may be unfinished.')
    .argument(
      '<folders...>',
      'folders of flinch bench run that scored right responses, too, or shards of them; their names are those of the sets',
    )
    .requiredOption('--output <file>', 'file to write')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence collect runs/gsm8k runs/math --output /tmp/evidence.json',
    )
    .action(async (folders: string[], { output }: { output: string }) => {
      const sets: string[] = [];
      for (const folder of folders) {
        const { answers, ...about } = await collectAnswers(folder);
        note(`${about.name}: ${answers.length} answers\n`);
        const lines = answers.map((answer) => JSON.stringify(answer)).join(',\n');
        sets.push(`${JSON.stringify(about).slice(0, -1)},"answers":[\n${lines}\n]}`);
      }
      await writeFile(output, `[\n${sets.join(',\n')}\n]\n`);
    });

const tablesCommand = (): Command =>
  new Command('tables')
    .description('Print the tables of a file of collect, or write them into a page.')
    .argument('<file>', 'file of collect')
    .option('--test <sets...>', 'sets to test the choice on; it is made on the others', [])
    .option('--into <page>', 'Markdown page; a table replaces the one after its comment')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence tables lab/data/pretrained.json --test qwen-0.5b-math-read',
    )
    .action(async (file: string, { test, into }: { test: readonly string[]; into?: string }) => {
      const sets = readJsonFile(file, z.array(answerSetSchema));
      const evidence = evidenceOf(sets, test);
      const tables = evidenceTables(sets, evidence);
      if (into !== undefined) await writeFile(into, withTables(await readFile(into, 'utf8'), tables));
      else for (const [name, make] of tables) say(`${name}\n\n${make()}\n\n`);
      say(`${choiceText(evidence.choice)}\n`);
    });
