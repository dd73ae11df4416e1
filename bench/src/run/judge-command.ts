import { join } from 'node:path';
import { Command } from 'commander';
import { integer, note, real, say } from 'flinch/internals';
import { each } from '../concurrent-map.js';
import {
  AGREEMENT_OF_PAPER,
  comparedSchema,
  formatAgreement,
  type LabelledCase,
  labelAgreement,
} from '../judge/label-agreement.js';
import { ACCEPTED_SIMILARITY } from '../judge/match-step.js';
import { PROMPTS_VERSION } from '../judge/prompts.js';
import { digestOf } from '../records/settings.js';
import { claimFolder, Ledger, writeWhole } from '../result-log.js';
import { firstWrongStep } from '../steps/first-wrong-step.js';
import { givenStepSpan, responseText } from '../suites/processbench.js';
import { commandLine } from './command-line.js';
import { lockFolder } from './folder-lock.js';
import { interruptible } from './interrupt.js';
import { judgeAt } from './judging.js';
import { type LabelledOptions, labelledProblems } from './labelled-problems.js';
import { limited } from './problems.js';
import { judgedSchema, RESULT_FILES } from './run-folder.js';
import { list } from './run-options.js';

interface JudgeOptions extends LabelledOptions {
  readonly judge: string;
  readonly judgeModel: string;
  readonly judgeTemperature?: number;
  readonly judgeAccept: number;
  readonly limit?: number;
  readonly streams: number;
  readonly out: string;
  readonly json?: boolean;
}

/** Requests to the judge at once. */
const STREAMS = 8;

export function judgeCommand(): Command {
  return new Command('judge')
    .description(
      'Measure how often a judge finds the first wrong step that people labelled, on ProcessBench.',
    )
    .requiredOption(
      '--judge <url>',
      'URL of an OpenAI-compatible API, including /v1; the key is read from FLINCH_JUDGE_KEY',
    )
    .requiredOption('--judge-model <name>', 'model name of the judge')
    .requiredOption('--out <folder>', 'folder for all answers; an interrupted run continues there')
    .option('--judge-temperature <number>', "temperature of the judge; by default the server's", real(0, 2))
    .option(
      '--judge-accept <number>',
      'minimum similarity between a quoted step and the text of the response',
      real(0.5, 1),
      ACCEPTED_SIMILARITY,
    )
    .option('--data <folder>', 'folder of the data sets; by default that of flinch data pull')
    .option('--subsets <names>', 'only these subsets, comma-separated', list)
    .option('--generators <names>', 'only responses that these models wrote, comma-separated', list)
    .option('--limit <number>', 'number of responses, spread evenly over the subsets', integer(1, 1e6))
    .option('--streams <number>', 'concurrent requests', integer(1, 1024), STREAMS)
    .option('--json', 'print the table as JSON')
    .addHelpText(
      'after',
      `
Only responses with a labelled mistake are judged, by the prompts of flinch bench run. No model is opened. ProcessBench has
no reference answers, so the judge works without one.

Example:
  $ flinch bench judge --judge https://api.example.com/v1 --judge-model large --limit 200 --out /tmp/judge`,
    )
    .action((options: JudgeOptions) =>
      interruptible('the same command continues', (interrupt) => compareAll(options, interrupt)),
    );
}

async function compareAll(options: JudgeOptions, interrupt: AbortController): Promise<void> {
  const { out, judge: url, judgeModel, judgeTemperature = null, judgeAccept, limit = null } = options;
  const problems = limited(await labelledProblems(options), limit);
  const settings = {
    model: judgeModel,
    prompts: PROMPTS_VERSION,
    accepted: judgeAccept,
    temperature: judgeTemperature,
  };
  claimFolder(out, { suite: 'processbench', limit, problems: digestOf(problems), judge: settings });
  const release = await lockFolder(out, (error) => interrupt.abort(error));
  try {
    const answers = await Ledger.open(join(out, RESULT_FILES.judge), judgedSchema, ({ key }) => key);
    const compared = await Ledger.open(join(out, 'compared.jsonl'), comparedSchema, ({ id }) => id);
    const { judge, usage } = judgeAt(url, 'processbench', settings, answers);
    const missing = problems.filter(({ id }) => !compared.has(id));
    await each(
      'judge',
      missing,
      async (problem) => {
        const { id, subset, given } = problem;
        const { span, rejected } = await judge.locate(problem, responseText(given));
        const steps = given.steps.map((_, i) => givenStepSpan(given, i));
        compared.add({
          id,
          subset,
          label: given.firstWrong,
          judged: firstWrongStep(span, steps),
          ...(rejected && { rejected }),
        });
      },
      {
        concurrency: options.streams,
        done: problems.length - missing.length,
        signal: interrupt.signal,
      },
    );
    note(`${usage()}\n`);
    const labelled = problems.flatMap(({ id, given }): LabelledCase[] => {
      const found = compared.get(id);
      return found ? [{ ...found, steps: given.steps }] : [];
    });
    const rows = labelAgreement('the judge', labelled);
    const report = {
      command: commandLine('flinch bench', 'judge'),
      judge: settings,
      rows,
      paper: AGREEMENT_OF_PAPER,
    };
    writeWhole(join(out, 'agreement.json'), `${JSON.stringify(report, null, 2)}\n`);
    say(`${options.json ? JSON.stringify(report) : formatAgreement(rows)}\n`);
  } finally {
    await release();
  }
}
