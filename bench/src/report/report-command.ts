import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { say, UsageError } from 'flinch/internals';
import { refuseForeign } from '../foreign-files.js';
import { GENERATOR } from './page.js';
import { filesOf } from './report.js';

interface ReportOptions {
  readonly out?: string;
  readonly paper?: boolean;
}

export function reportCommand(): Command {
  return new Command('report')
    .description('Write the tables of one or more runs as pages.')
    .argument(
      '[folders...]',
      'folders of `flinch bench run`; runs with different models, temperatures or settings are compared',
    )
    .option('--out <folder>', 'output folder (default: the first run folder)')
    .option('--paper', "write the paper's tables with its own numbers, without a run; requires --out")
    .addHelpText(
      'after',
      `
Writes report.html, and answers.html with the answers on which the best score is most wrong (runs with --score
all). The pages need no scripts and no network. evaluation.json in a run's folder has all numbers.

Examples:
  $ flinch bench report runs/math
  $ flinch bench report runs/tasks-0.2 runs/tasks-0.5 --out runs/report
  $ flinch bench report --paper --out /tmp/paper`,
    )
    .action(writeReport);
}

function writeReport(folders: readonly string[], { out, paper }: ReportOptions): void {
  const [first] = folders;
  if (paper && first !== undefined) throw new UsageError('--paper: cannot be combined with run folders');
  if (!paper && first === undefined) throw new UsageError('at least one run folder is required');
  const target = out ?? first;
  if (target === undefined) throw new UsageError('--paper: requires --out');
  const files = filesOf(folders);
  refuseForeign(target, [...files.keys()], 'report.html', GENERATOR);
  mkdirSync(target, { recursive: true });
  for (const [name, text] of files) {
    writeFileSync(join(target, name), text);
    say(`${join(target, name)}\n`);
  }
}
