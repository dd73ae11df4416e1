import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { integer } from '#cli/options.js';
import { note } from '#cli/terminal.js';
import { UsageError } from '#src/files/errors.js';
import { drawPanels } from './draw-panels.js';
import { panelsOf } from './panels.js';
import { queryRange } from './query-range.js';

interface DashboardOptions {
  readonly prometheus: string;
  readonly row: string;
  readonly minutes: number;
  readonly output: string;
}

export function dashboardCommand(): Command {
  return new Command('dashboard')
    .description('Draw a row of the Grafana dashboard from a running Prometheus, without Grafana.')
    .requiredOption('--prometheus <url>', 'URL of a Prometheus that reads the metrics of a gateway')
    .requiredOption('--row <title>', 'title of the row, such as "Adv. Pert."')
    .option('--minutes <number>', 'how far back', integer(1, 10_000), 15)
    .requiredOption('--output <file>', 'SVG file')
    .addHelpText(
      'after',
      `
Queries are those of dashboards/grafana/dashboards/flinch.json, for all models, over one minute. Only time series are drawn.

Example:
  $ npm run lab -- dashboard --prometheus http://127.0.0.1:9090 --row "Adv. Pert." --output adv-pert.svg`,
    )
    .action(draw);
}

async function draw({ prometheus, row, minutes, output }: DashboardOptions): Promise<void> {
  const panels = panelsOf(row);
  if (panels.length === 0) throw new UsageError(`--row: the dashboard has no time series in a row "${row}"`);
  const range = { end: Date.now() / 1000, seconds: 60 * minutes };
  const drawn = await Promise.all(
    panels.map(async ({ targets, ...panel }) => ({
      ...panel,
      series: (await Promise.all(targets.map((target) => queryRange(prometheus, target, range)))).flat(),
    })),
  );
  writeFileSync(output, await drawPanels(drawn));
  const empty = drawn.filter(({ series }) => series.length === 0).map(({ title }) => title);
  if (empty.length > 0) note(`no data: ${empty.join(', ')}\n`);
}
