import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { UsageError } from 'flinch/internals';

interface ReportOptions {
  readonly out?: string;
  readonly paper?: boolean;
}

export function reportCommand(): Command {
  return new Command('report')
    .description('Write the tables, plots and case studies of one or several runs.')
    .argument(
      '[folders...]',
      'of `flinch bench run`; several models, temperatures or settings stand side by side',
    )
    .option('--out <folder>', 'write there instead of into the first folder')
    .option('--paper', 'write the tables of the paper with its own numbers, of no run; needs --out')
    .addHelpText(
      'after',
      `
Writes report.md, report.json and report.html, one page that needs no script and no network.

Examples:
  $ flinch bench report runs/math
  $ flinch bench report runs/tasks-0.2 runs/tasks-0.5 --out docs/results/tasks
  $ flinch bench report --paper --out /tmp/paper`,
    )
    .action(writeReport);
}

async function writeReport(folders: readonly string[], { out, paper }: ReportOptions): Promise<void> {
  const [first] = folders;
  if (paper && first !== undefined) throw new UsageError('--paper is of no run: name no folders with it');
  if (!paper && first === undefined) throw new UsageError('name at least one folder of a run');
  const target = out ?? first;
  if (target === undefined) throw new UsageError('--paper: name the folder to write to with --out');
  // Only here: vega takes a while to load, and other commands do not need it.
  const { renderReport, reportOf } = await import('./report.js');
  const files = await renderReport(reportOf(folders));
  mkdirSync(target, { recursive: true });
  for (const [name, text] of files) {
    writeFileSync(join(target, name), text);
    process.stdout.write(`${join(target, name)}\n`);
  }
}
