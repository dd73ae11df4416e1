import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { note, say } from '#cli/terminal.js';
import { UsageError } from '#src/files/file-errors.js';
import { collectAnswers, EXTENSION, packAnswers, readAnswers } from './answer-set.js';
import { withTables } from './page-tables.js';
import { evidenceOf } from './tables.js';

/** `npm run lab -- evidence`: which score of a step finds the first wrong one. */
export function evidenceCommand(): Command {
  return new Command('evidence')
    .description('Show what scores of steps find in runs of flinch bench run, and choose one.')
    .addCommand(collectCommand())
    .addCommand(tablesCommand());
}

const collectCommand = (): Command =>
  new Command('collect')
    .description('Write what the tables need of runs to files. A run may be unfinished.')
    .argument(
      '<folders...>',
      'folders of flinch bench run that scored right responses, too; their names are those of the sets',
    )
    .requiredOption('--output <folder>', 'folder to write to')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence collect runs/gsm8k runs/math --output /tmp/evidence',
    )
    .action(async (folders: string[], { output }: { output: string }) => {
      mkdirSync(output, { recursive: true });
      for (const folder of folders) {
        const set = await collectAnswers(folder);
        note(`${set.name}: ${set.answers.length} answers\n`);
        writeFileSync(join(output, `${set.name}${EXTENSION}`), packAnswers(set));
      }
    });

const tablesCommand = (): Command =>
  new Command('tables')
    .description('Print the tables of files of collect, or write them into a page.')
    .argument('<files...>', 'files of collect')
    .option(
      '--test <table=sets...>',
      'a table of sets, comma-separated, that the score is only tested on; it is chosen on the others',
      [],
    )
    .option('--into <page>', 'Markdown page; a table replaces the one after its comment')
    .addHelpText(
      'after',
      '\nExample:\n  $ npm run lab -- evidence tables lab/data/*.jsonl.gz --test harder=olympiadbench,omnimath',
    )
    .action((files: string[], { test, into }: { test: readonly string[]; into?: string }) => {
      const groups = new Map(test.map(groupOf));
      const { chosen, tables } = evidenceOf(files.map(readAnswers), groups);
      if (into !== undefined) writeFileSync(into, withTables(readFileSync(into, 'utf8'), tables));
      else for (const [name, table] of tables) say(`${name}\n\n${table}\n\n`);
      say(`By the rule, the choice is ${chosen}.\n`);
    });

function groupOf(option: string): [name: string, sets: string[]] {
  const [name, sets] = option.split('=');
  if (!name || !sets) throw new UsageError(`--test: ${option} is not TABLE=SET,SET`);
  return [name, sets.split(',')];
}
