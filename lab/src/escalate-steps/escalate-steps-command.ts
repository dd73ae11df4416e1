import { Command } from 'commander';
import { defaultDataFolder, suiteFolder } from '#bench/data/folder.js';
import { percent, table } from '#bench/markdown-table.js';
import { claimFolder } from '#bench/result-log.js';
import { limited } from '#bench/run/problems.js';
import { formatEstimate } from '#bench/statistics/estimate.js';
import { suites } from '#bench/suites/suites.js';
import { integer, real } from '#cli/options.js';
import { say } from '#cli/terminal.js';
import { compare, type Row } from './comparison.js';
import { type Run, type RunOptions, run, type Way } from './run.js';
import { TwoModels } from './two-models.js';

interface Options
  extends Pick<RunOptions, 'tuning' | 'share' | 'temperature' | 'maxTokens' | 'concurrency' | 'seed'> {
  readonly small: string;
  readonly smallModel: string;
  readonly large: string;
  readonly largeModel: string;
  readonly data?: string;
  readonly problems: number;
  readonly out: string;
  readonly json?: boolean;
}

export function escalateStepsCommand(): Command {
  return new Command('escalate-steps')
    .description(
      'Measure what it is worth that a large model writes the steps that a small one is unsure of, on GSM8K.',
    )
    .requiredOption('--small <url>', 'server of the small model, which returns log-probabilities')
    .option('--small-model <name>', 'its name there', 'small')
    .requiredOption('--large <url>', 'server of the large model')
    .option('--large-model <name>', 'its name there', 'large')
    .option('--data <folder>', 'folder of the data sets; by default that of flinch data pull')
    .option('--problems <number>', 'problems that are answered in all ways', integer(1, 1e5), 100)
    .option('--tuning <number>', 'problems before these, which give the threshold', integer(1, 1e5), 20)
    .option('--share <number>', 'share of the steps that the large model writes', real(0, 1), 0.2)
    .option('--temperature <number>', 'sampling temperature', real(0, 2), 0.2)
    .option('--max-tokens <number>', 'maximum length of an answer', integer(1, 65_536), 512)
    .option('--concurrency <number>', 'problems at a time', integer(1, 64), 8)
    .option(
      '--seed <number>',
      'seed of the first problem; incremented for each further one',
      integer(0, 2 ** 30),
      0,
    )
    .requiredOption('--out <folder>', 'folder for the answers; an interrupted run continues there')
    .option('--json', 'print the results as JSON')
    .addHelpText(
      'after',
      `
Ways to answer: small and large alone; steps: the large model writes the steps with the highest summed entropy, as
\`escalate: { on: step }\` does, with a threshold from other problems; random: as many steps at random; rest: it writes all
from the first such step on. Each is compared with whole questions that are handed on, by the verdict or at random, for as
many tokens of the large model. Intervals are 95 %, of problems drawn again.

Example:
  $ npm run lab -- escalate-steps --small http://127.0.0.1:8001/v1 --large http://127.0.0.1:8002/v1 --out /tmp/steps`,
    )
    .action(escalateSteps);
}

async function escalateSteps(options: Options): Promise<void> {
  const { json: _, out, small, large, data, problems: count, concurrency, ...settings } = options;
  const { tuning, share, temperature, maxTokens, seed } = settings;
  const suite = suites.gsm8k;
  const folder = suiteFolder(data ?? defaultDataFolder(), suite.name);
  const all = limited(await suite.load({ folder, subsets: null, seed: 0, count: 0 }), count + tuning);
  claimFolder(out, settings);
  const models = new TwoModels(
    { url: small, model: options.smallModel },
    { url: large, model: options.largeModel },
  );
  try {
    const found = await run({
      ...{ models, suite, problems: all, tuning, share, temperature, maxTokens, seed },
      ...{ concurrency, folder: out },
    });
    const rows = compare(found.cases);
    say(`${options.json ? JSON.stringify({ ...found, rows }) : format(found, rows)}\n`);
  } finally {
    await models.close();
  }
}

const NAMES: Readonly<Record<Way, string>> = {
  small: 'the small model alone',
  large: 'the large model alone',
  steps: 'doubtful steps',
  random: 'random steps',
  rest: 'all from the first doubtful step on',
};

function format({ threshold, cases }: Run, rows: readonly Row[]): string {
  const steps = cases.flatMap(({ small }) => small.steps);
  const flagged = steps.filter(({ score }) => score >= threshold).length / steps.length;
  const maybe = (estimate: Row['overAnswers']): string => (estimate ? formatEstimate(estimate) : '');
  return [
    `${cases.length} problems; a step is doubtful from a summed entropy of ${threshold.toFixed(2)} on, ${percent(flagged)} of the steps of the small model`,
    '',
    table(
      [
        'written by the large model',
        'right',
        'of the gap',
        'steps handed on',
        'tokens, small',
        'tokens, large',
        'more than answers by verdict',
        'than random answers',
        'than random steps',
      ],
      rows.map((row) => [
        NAMES[row.way],
        formatEstimate(row.right),
        row.closed === null ? '' : percent(row.closed),
        row.escalated.toFixed(1),
        row.small.toFixed(0),
        row.large.toFixed(0),
        maybe(row.overAnswers),
        maybe(row.overRandomAnswers),
        maybe(row.overRandomSteps),
      ]),
    ),
  ].join('\n');
}
