import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { type DeviceChoice, Engine } from 'flinch';
import {
  deviceOption,
  fingerprint,
  formatDevices,
  integer,
  modelOption,
  reportDevices,
  say,
} from 'flinch/internals';
import { sum } from 'simple-statistics';
import { each } from '../concurrent-map.js';
import {
  type AgreementRow,
  type Compared,
  comparedSchema,
  formatAgreement,
  type LabelledCase,
  labelAgreement,
} from '../judge/label-agreement.js';
import { digestOf, rolloutsNamed } from '../records/settings.js';
import { claimFolder, Ledger, writeWhole } from '../result-log.js';
import type { Completer } from '../rollouts/completer.js';
import { labelByRollouts, type RolloutLabel, rolloutKey } from '../rollouts/label-by-rollouts.js';
import { ANSWERED_SUBSETS } from '../suites/known-answers.js';
import { suites } from '../suites/suites.js';
import { commandLine } from './command-line.js';
import { lockFolder } from './folder-lock.js';
import { interruptible } from './interrupt.js';
import type { LabelledOptions, LabelledProblem } from './labelled-problems.js';
import { completerOptions, rolloutSettings } from './labels.js';
import { limited } from './problems.js';
import { systemMessage } from './prompt.js';
import { type RolloutCases, rolloutCases } from './rollout-cases.js';
import { drawnSchema, RESULT_FILES } from './run-folder.js';
import { addRolloutOptions, list, type RolloutOptions, streamsOption } from './run-options.js';
import { engineCompleter } from './writer/engine-writer.js';
import { upstreamCompleter } from './writer/upstream-completer.js';

interface Options extends RolloutOptions, LabelledOptions {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly limit?: number;
  readonly maxTokens: number;
  readonly streams: number;
  readonly out: string;
  readonly json?: boolean;
}

export function rolloutsCommand(): Command {
  const command = new Command('rollouts')
    .description(
      'Measure how often rollouts find the first wrong step that people labelled, on ProcessBench.',
    )
    .addOption(modelOption())
    .addOption(deviceOption())
    .requiredOption('--out <folder>', 'folder for all completions; an interrupted run continues there');
  return addRolloutOptions(command, '--model')
    .option('--data <folder>', 'folder of the data sets; by default that of flinch data pull')
    .option('--subsets <names>', 'subsets, comma-separated: gsm8k, math', list, [...ANSWERED_SUBSETS])
    .option('--limit <number>', 'number of responses, spread evenly over the subsets', integer(1, 1e6))
    .option('--max-tokens <number>', 'maximum length of a completion', integer(1, 65_536), 1024)
    .addOption(streamsOption('responses at once, each with one completion at a time'))
    .option('--json', 'print the table as JSON')
    .addHelpText(
      'after',
      `
After each step of a wrong response, completions are drawn until one has the known answer. The first step after which none
of --rollouts has it is the first wrong one (flinch bench run --label rollouts). ProcessBench has no answers: they are those
of the suites that its problems come from, so the data of gsm8k and math is needed. Responses with a right final answer are
left out.

Examples:
  $ flinch bench rollouts --model ./Qwen2.5-7B-Instruct --subsets gsm8k --limit 100 --out /tmp/rollouts
  $ flinch bench rollouts --completer http://127.0.0.1:8000/v1 --completer-model large --rollouts 16 --out /tmp/rollouts`,
    )
    .action((options: Options) =>
      interruptible('the same command continues', (interrupt) => compareAll(options, interrupt)),
    );
}

async function compareAll(options: Options, interrupt: AbortController): Promise<void> {
  const { out, limit = null, maxTokens, streams } = options;
  const { signal } = interrupt;
  const known = await rolloutCases(options);
  const chosen = new Set(
    limited(
      known.cases.map(({ problem }) => problem),
      limit,
    ),
  );
  const cases = known.cases.filter(({ problem }) => chosen.has(problem));
  const { completer, about, close } = await openCompleter(options);
  const closing = [close];
  try {
    const label = rolloutSettings(options, completerOptions(options));
    const problems = digestOf(cases.map(({ problem }) => problem));
    const settings = { suite: 'processbench', limit, problems, label, seed: SEED, maxTokens, ...about };
    claimFolder(out, settings);
    closing.push(await lockFolder(out, (error) => interrupt.abort(error)));
    const drawn = await Ledger.open(join(out, RESULT_FILES.rollouts), drawnSchema, rolloutKey);
    const compared = await Ledger.open(join(out, 'compared.jsonl'), comparedSchema, ({ id }) => id);
    const missing = cases.filter(({ problem: { id } }) => !compared.has(id));
    await each(
      'rollouts',
      missing,
      async (one) => {
        const rollouts = { ...label, completer, topP: 1, seed: SEED, known: drawn, signal };
        compared.add(comparedOf(one.problem, await labelByRollouts(one, rollouts)));
      },
      { concurrency: streams, done: cases.length - missing.length, signal },
    );
    const labelled = cases.flatMap(({ problem: { id, given } }): LabelledCase[] => {
      const found = compared.get(id);
      return found ? [{ ...found, steps: given.steps }] : [];
    });
    const report = {
      command: commandLine('flinch bench', 'rollouts'),
      settings,
      leftOut: { rightAnswers: known.rightAnswers, unknownAnswers: known.unknownAnswers },
      cost: costOf(labelled),
      rows: labelAgreement(rolloutsNamed(settings) ?? '', labelled),
    };
    writeWhole(join(out, 'agreement.json'), `${JSON.stringify(report, null, 2)}\n`);
    say(`${options.json ? JSON.stringify(report) : format(report)}\n`);
  } finally {
    for (const end of closing) await end();
  }
}

/** Of the completions. */
const SEED = 1;

interface OpenCompleter {
  readonly completer: Completer;
  /** Settings of it that results depend on. */
  readonly about: { readonly system: string | null; readonly model?: string; readonly device?: string };
  readonly close: () => Promise<void>;
}

async function openCompleter(options: Options): Promise<OpenCompleter> {
  const suite = suites.processbench;
  const server = completerOptions(options);
  if (server) {
    // Whether its template has a place for a system message is not known.
    const completer = upstreamCompleter(server, suite, null);
    return { completer, about: { system: null }, close: async () => completer.close() };
  }
  const { model, device, streams } = options;
  const engine = await Engine.open(model, { device, maxStreams: streams, threads: availableParallelism() });
  await reportDevices(engine, device, ['decode']);
  const system = systemMessage(engine.checkpoint, suite);
  return {
    completer: engineCompleter({ engine, suite }, system),
    about: {
      system,
      model: await fingerprint(engine.checkpoint),
      device: device === 'cpu' ? 'cpu' : formatDevices(engine),
    },
    close: () => engine.close(),
  };
}

const comparedOf = ({ id, subset, given }: LabelledProblem, { step, rollouts }: RolloutLabel): Compared => ({
  id,
  subset,
  label: given.firstWrong,
  judged: step,
  rollouts,
  ...(step === null && { rejected: 'not_reached' }),
});

interface Cost {
  readonly completions: number;
  /** Written by all completions. */
  readonly tokens: number;
}

function costOf(cases: readonly Compared[]): Cost {
  const all = cases.flatMap(({ rollouts }) => rollouts ?? []);
  const drawn = all.flatMap(({ prefixes }) => prefixes.map((prefix) => prefix.drawn));
  return { completions: sum(drawn), tokens: sum(all.map(({ tokens }) => tokens)) };
}

interface Report {
  readonly rows: readonly AgreementRow[];
  readonly cost: Cost;
  readonly leftOut: Pick<RolloutCases, 'rightAnswers' | 'unknownAnswers'>;
}

const format = ({ rows, cost, leftOut }: Report): string =>
  `${formatAgreement(rows)}

${cost.completions} completions, ${cost.tokens} tokens written; left out: ${leftOut.rightAnswers} responses with a right final answer, ${leftOut.unknownAnswers} to problems without a known one`;
