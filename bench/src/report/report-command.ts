import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { say, UsageError } from 'flinch/internals';
import { refuseForeign } from '../foreign-files.js';

interface ReportOptions {
  readonly out?: string;
  readonly paper?: boolean;
}

export function reportCommand(): Command {
  return new Command('report')
    .description('Write tables, plots and case studies of one or more runs.')
    .argument(
      '[folders...]',
      'folders of `flinch bench run`; runs with different models, temperatures or settings are compared',
    )
    .option('--out <folder>', 'output folder (default: the first run folder)')
    .option('--paper', "write the paper's tables with its own numbers, without a run; requires --out")
    .addHelpText(
      'after',
      `
Writes report.md, report.json and report.html, and answers.html with the answers on which the best score is most wrong
(runs with --score all). The pages need no scripts and no network. report.tex has the tables by answer and by step for LaTeX,
the folder figures every figure as an SVG file.

Examples:
  $ flinch bench report runs/math
  $ flinch bench report runs/tasks-0.2 runs/tasks-0.5 --out runs/report
  $ flinch bench report --paper --out /tmp/paper`,
    )
    .action(writeReport);
}

async function writeReport(folders: readonly string[], { out, paper }: ReportOptions): Promise<void> {
  const [first] = folders;
  if (paper && first !== undefined) throw new UsageError('--paper: cannot be combined with run folders');
  if (!paper && first === undefined) throw new UsageError('at least one run folder is required');
  const target = out ?? first;
  if (target === undefined) throw new UsageError('--paper: requires --out');
  // Only here: vega takes a while to load, and other commands do not need it.
  const { FIGURES, FORMAT, filesOf } = await import('./report.js');
  const files = await filesOf(folders);
  const json = join(target, 'report.json');
  const isOurs = existsSync(json) && readFileSync(json, 'utf8').includes(FORMAT);
  if (!isOurs) refuseForeign(target, files.keys());
  const figures = join(target, FIGURES);
  const names = [...files.keys()];
  const drawn = names.filter((name) => name.startsWith(`${FIGURES}/`));
  mkdirSync(drawn.length > 0 ? figures : target, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(target, name), text);
  for (const name of names) if (!drawn.includes(name)) say(`${join(target, name)}\n`);
  if (drawn.length > 0) say(`${figures}: ${drawn.length} figures\n`);
}
