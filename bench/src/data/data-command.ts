import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ByteBar, byteBar, heading, reportError, say, showsBars, UsageError } from 'flinch/internals';
import { DATA_SETS, type DataFile, type DataSet } from './data-catalogue.js';
import { defaultDataFolder } from './data-folder.js';
import { filesPresent, pull } from './data-pull.js';

interface DataOptions {
  readonly data: string;
}

interface PullOptions extends DataOptions {
  readonly baseUrl?: string;
  readonly force?: boolean;
}

/** The folder that holds a folder for each suite. */
export const dataOption = (): Option =>
  new Option('--data <folder>', 'folder of the data sets, with one subfolder per suite').default(
    defaultDataFolder(),
    '$XDG_DATA_HOME/flinch, or ~/.local/share/flinch',
  );

export function dataCommand(): Command {
  return new Command('data').addCommand(listCommand()).addCommand(pullCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('List the data sets with origin, licence and downloaded files.')
    .addOption(dataOption())
    .addHelpText(
      'after',
      `
Examples:
  $ flinch data list
  $ flinch data list --data ~/benchmarks`,
    )
    .action(async ({ data }: DataOptions) => {
      const texts: string[] = [];
      for (const set of DATA_SETS) texts.push(await describe(set, data));
      say(texts.join('\n'));
    });
}

function pullCommand(): Command {
  return new Command('pull')
    .description('Download data sets; an interrupted download continues.')
    .argument('<names...>', `of ${names().join(', ')}; all`, collectNames)
    .addOption(dataOption())
    .addOption(
      new Option('--base-url <url>', 'mirror with the files as <suite>/<file>')
        .env('FLINCH_DATA_URL')
        .argParser(parseUrl),
    )
    .option('--force', 'replace files that differ from the published ones')
    .addHelpText(
      'after',
      `
Examples:
  $ flinch data pull bbh gsm8k
  $ flinch data pull all --data ~/benchmarks
  $ flinch data pull math --base-url https://mirror.example/flinch`,
    )
    .action(async (chosen: readonly string[], options: PullOptions) => {
      for (const set of DATA_SETS) if (chosen.includes(set.suite)) await pullSet(set, options);
    });
}

const names = (): string[] => DATA_SETS.map(({ suite }) => suite);

function collectNames(name: string, before: readonly string[] = []): string[] {
  if (name === 'all') return names();
  if (!names().includes(name)) throw new InvalidArgumentError(`Must be one of ${names().join(', ')}, all.`);
  return [...before, name];
}

function parseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new InvalidArgumentError('Must be a URL that begins with http:// or https://.');
  }
  return text;
}

async function pullSet(set: DataSet, { data, baseUrl, force }: PullOptions): Promise<void> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once('SIGINT', interrupt);
  const bar = new DownloadBar();
  const folder = join(data, set.suite);
  try {
    const done = await pull(set, {
      folder,
      signal: interrupted.signal,
      onProgress: (file, bytes, total) => bar.update(file, bytes, total),
      ...(baseUrl !== undefined && { baseUrl }),
      ...(force !== undefined && { force }),
    });
    bar.stop();
    const downloaded = done.filter((pulled) => pulled === 'downloaded').length;
    const present = done.length - downloaded;
    say(`${await describe(set, data)}  ${downloaded} downloaded, ${present} already there: ${folder}\n`);
  } catch (error) {
    if (interrupted.signal.aborted) process.exitCode = 130;
    if (interrupted.signal.aborted || !(error instanceof UsageError)) throw error;
    bar.stop();
    reportError(error); // the other data sets may well be there
    process.exitCode = 1;
  } finally {
    bar.stop();
    process.off('SIGINT', interrupt);
  }
}

async function describe(set: DataSet, data: string): Promise<string> {
  const { published, others } = await filesPresent(set, join(data, set.suite));
  const states = [
    published === set.files.length && 'there',
    published + others === 0 && 'not downloaded',
    published > 0 && published < set.files.length && `${published} of ${set.files.length} files`,
    others > 0 && `${others} that ${others > 1 ? 'are' : 'is'} not as published`,
  ];
  const state = states.filter((text) => text !== false).join(', ');
  const note = set.note ? `  ${set.note}\n` : '';
  return `${heading(set.suite)}  ${set.title}; ${state}\n  ${set.licence}; ${set.source}\n${note}`;
}

/** One bar on standard error for each file. */
class DownloadBar {
  #file: DataFile | null = null;
  #bar: ByteBar | null = null;

  update(file: DataFile, bytes: number, total: number | null): void {
    if (!showsBars()) return;
    if (file !== this.#file) {
      this.stop();
      this.#file = file;
      const amount = total === null ? '{value}' : '{bar} {value}/{total}, {eta_formatted} left';
      this.#bar = byteBar(`${file.name}: ${amount}`);
      this.#bar.start(total ?? 0, bytes);
    }
    this.#bar?.update(bytes);
  }

  stop(): void {
    this.#bar?.stop();
    this.#bar = null;
  }
}
