import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { thisMachine } from '#bench/markdown-table.js';
import { integer } from '#cli/options.js';
import { Progress } from '#cli/progress.js';
import { say } from '#cli/terminal.js';
import { withCacheIn } from '../peers/folder.js';
import { SHAPES } from '../speed/random-checkpoint.js';
import { withTemporaryFolder } from '../temporary-folder.js';
import { type GoldenRow, goldenFixtures, measureGolden } from './golden.js';
import { formatModels, type ModelsReport } from './report.js';
import { FORMATS, measureSpeeds, turnsOf } from './speed.js';

const PARTS = ['golden', 'speed'] as const;

interface Options {
  readonly parts: readonly string[];
  readonly fixtures: string;
  readonly shape: keyof typeof SHAPES;
  readonly formats: readonly string[];
  readonly tokens: number;
  readonly rounds: number;
  readonly output: string;
}

export function modelsCommand(): Command {
  return new Command('models')
    .description('Measure error, speed and memory of each family, format and precision.')
    .addOption(
      new Option('--parts <names>', `what is measured, among ${PARTS.join(',')}`)
        .argParser(oneOrMore(PARTS))
        .default(PARTS, 'both'),
    )
    .option('--fixtures <folder>', "tiny models with golden values: flinch's own", 'test/fixtures')
    .addOption(
      new Option('--shape <name>', 'size of the random weights').choices(Object.keys(SHAPES)).default('135m'),
    )
    .addOption(
      new Option('--formats <names>', `formats of the random weights, among ${FORMATS.join(', ')}`)
        .argParser(oneOrMore(FORMATS))
        .default(FORMATS, 'all'),
    )
    .option('--tokens <number>', 'length of each answer', integer(8, 400), 32)
    .option('--rounds <number>', 'repetitions of each measurement, in turn', integer(1, 100), 3)
    .option('--output <file>', 'JSON, of which other parts are kept', 'bench-models.json')
    .addHelpText(
      'after',
      `
Examples:
  $ npm run lab -- models --parts golden
  $ npm run lab -- models --parts speed --formats "Q8_0 GGUF,AWQ" --rounds 5`,
    )
    .action(bench);
}

const oneOrMore =
  (known: readonly string[]) =>
  (text: string): string[] =>
    text.split(',').map((part) => {
      const name = part.trim();
      if (!known.includes(name))
        throw new InvalidArgumentError(`"${name}" is not one of ${known.join(', ')}.`);
      return name;
    });

async function bench(options: Options): Promise<void> {
  const { parts, output } = options;
  const report = await withTemporaryFolder((temporary) =>
    withCacheIn(temporary, async (): Promise<ModelsReport> => {
      const golden = parts.includes('golden') && (await measureAllGolden(options.fixtures, temporary));
      const speed = parts.includes('speed') && (await measureSpeed(options, temporary));
      return { ...(golden && { golden }), ...(speed && { speed }) };
    }),
  );
  const before: ModelsReport = existsSync(output) ? JSON.parse(await readFile(output, 'utf8')) : {};
  await writeFile(output, `${JSON.stringify({ ...before, ...report }, null, 2)}\n`);
  say(`${formatModels(report)}\n\nwritten to ${output}\n`);
}

async function measureAllGolden(fixtures: string, temporary: string): Promise<GoldenRow[]> {
  const all = await goldenFixtures(fixtures, temporary);
  const progress = new Progress(all.length);
  const rows: GoldenRow[] = [];
  try {
    for (const fixture of all) {
      rows.push(await measureGolden(fixture));
      progress.advance();
    }
    return rows;
  } finally {
    progress.stop();
  }
}

async function measureSpeed(
  { shape, formats, tokens, rounds }: Options,
  temporary: string,
): Promise<ModelsReport['speed']> {
  const progress = new Progress(turnsOf({ formats, rounds }));
  try {
    const onTurn = (): void => progress.advance();
    const rows = await measureSpeeds(SHAPES[shape], temporary, { formats, tokens, rounds, onTurn });
    return { shape, machine: thisMachine(), tokens, rounds, rows };
  } finally {
    progress.stop();
  }
}
