import { type Command, InvalidArgumentError, Option } from 'commander';
import { type DeviceChoice, SettingsError } from 'flinch';
import { deviceOption, integer, modelOption, real, UsageError } from 'flinch/internals';
import { CONCURRENCY } from '../concurrent-map.js';
import type { Measure } from '../measures/measure.js';
import { MEASURE_METHODS, parseMeasures } from '../measures/parse-measure.js';
import type { RunSettings } from '../records/run-settings.js';
import type { WhichScored } from '../records/selection.js';
import { HOW_CHECKED, openTask, type Task } from '../suites/own/task.js';
import { NAMED_SUITES, type SuiteName } from '../suites/suite.js';
import { STAGES, type StageName } from './stage-names.js';

/** Options of labels by rollouts. */
export interface RolloutOptions {
  readonly rollouts: number;
  readonly completer?: string;
  readonly completerModel?: string;
}

/** Options as they are given. */
export interface GivenOptions extends Omit<RunOptions, 'suite' | 'task' | 'score' | 'check'> {
  readonly suite?: SuiteName;
  readonly questions?: string;
  readonly examples?: string;
  readonly check: string;
  readonly score?: WhichScored;
  readonly plan?: boolean;
}

export interface RunOptions extends RolloutOptions {
  readonly suite: SuiteName;
  /** The questions of `own`. */
  readonly task?: Task;
  readonly model: string;
  readonly device: DeviceChoice;
  readonly out: string;
  readonly data?: string;
  readonly subsets?: string[];
  readonly limit?: number;
  readonly seed: number;
  readonly measures?: Measure[];
  readonly perSubset?: number;
  readonly score: WhichScored;
  readonly temperature: number;
  readonly maxTokens: number;
  readonly upstream?: string;
  readonly upstreamModel?: string;
  readonly nli?: string;
  readonly crossEncoder?: string;
  readonly embedder?: string;
  readonly check: RunSettings['check'];
  readonly unsure: 'out' | 'wrong';
  readonly label?: 'judge' | 'rollouts';
  readonly judge?: string;
  readonly judgeModel?: string;
  readonly claims?: string;
  readonly evidence?: string;
  readonly stages: StageName[];
  readonly streams: number;
  readonly time: number;
  readonly json?: boolean;
}

/** Measures of the paper's tables. */
export const DEFAULT_MEASURES =
  'adversarial,random,tokur_eu,nll,entropy,margin,ccp,token_sar,graph,self_consistency';

/** Measures of one's own questions: those that need no further responses and no other model. */
export const OWN_MEASURES = 'adversarial,nll,entropy,margin';

/** The same for suites that are judged by claims, where a judge can take responses apart. */
export const MEASURES_OF_CLAIMS = DEFAULT_MEASURES.replace('graph', 'graph-claims');

export function addRunOptions(command: Command): Command {
  return command
    .option('--questions <file>', "your own questions: JSON Lines, CSV, TSV, or a task's YAML, see below")
    .addOption(modelOption())
    .requiredOption('--out <folder>', 'folder for all results; an interrupted run continues there')
    .option('--plan', 'print what the run would do, with time and requests, and do nothing')
    .option('--json', 'print the summary as JSON')
    .addOption(deviceOption())
    .optionsGroup('Problems:')
    .option(
      '--examples <file>',
      'worked examples (few-shot), which the model is shown before each of --questions: a table with question and answer',
    )
    .option('--data <folder>', 'folder of the data sets; by default that of flinch data pull')
    .option('--subsets <names>', 'only these subsets, comma-separated', list)
    .option(
      '--limit <number>',
      'number of problems, spread evenly over the subsets; a larger number goes on in the same folder',
      integer(1, 1e6),
    )
    .option(
      '--seed <number>',
      'seed of the responses, of generated problems, and of the order in which questions are drawn',
      integer(0, 2 ** 30),
      1,
    )
    .optionsGroup('Responses:')
    .option('--temperature <number>', 'sampling temperature', real(0, 2), 0.2)
    .option('--max-tokens <number>', 'maximum length of a response', integer(1, 65_536), 1024)
    .option(
      '--upstream <url>',
      'URL of an OpenAI-compatible server that writes the responses, including /v1; by default --model writes; the key is read from FLINCH_UPSTREAM_KEY',
    )
    .option('--upstream-model <name>', "the model's name on that server")
    .optionsGroup('Evaluation:')
    .addOption(
      new Option(
        '--score <which>',
        'wrong: wrong responses with a known first wrong step; all, the default for --questions',
      )
        .choices(['wrong', 'all'])
        .default(undefined, 'wrong'),
    )
    .option(
      '--per-subset <number>',
      'number of wrong responses per subset; no more are written once each subset has them',
      integer(1, 1e6),
    )
    .option('--nli <folder>', 'ONNX model for natural language inference, for ccp')
    .option('--cross-encoder <folder>', 'ONNX model for text similarity, for token_sar')
    .option('--embedder <folder>', 'ONNX model for sentence embeddings, for graph')
    .option(
      '--check <by>',
      `how answers are checked: rules, judge; for --questions also ${HOW_CHECKED}, by default as the columns suggest`,
      'rules',
    )
    .addOption(
      new Option('--unsure <as>', 'answers that the check cannot compare with the key: left out, or wrong')
        .choices(['out', 'wrong'])
        .default('out'),
    )
    .option(
      '--judge <url>',
      'URL of an OpenAI-compatible API, including /v1; the key is read from FLINCH_JUDGE_KEY',
    )
    .option('--judge-model <name>', 'model name of the judge')
    .addOption(
      new Option(
        '--label <by>',
        'how first wrong steps are found; by default as the suite has it: labels, a program, or else a judge',
      ).choices(['judge', 'rollouts']),
    )
    .option('--rollouts <number>', 'maximum number of completions after each step', integer(1, 1024), 8)
    .option(
      '--completer <url>',
      'URL of an OpenAI-compatible server that writes the completions of rollouts, including /v1; by default the model of --upstream, or else --model; the key is read from FLINCH_COMPLETER_KEY',
    )
    .option('--completer-model <name>', "the model's name on that server")
    .optionsGroup('Claims, of factscore:')
    .option('--evidence <file>', 'passages for checking claims, JSON Lines: {"id", "passages"}')
    .option(
      '--claims <file>',
      'labelled claims, instead of those of a judge, JSON Lines: {"id", "claims": [{"claim", "words", "supported"}]}',
    )
    .optionsGroup('Work:')
    .addOption(
      new Option('--stages <names>', `stages to run, among ${STAGES.join(', ')}`)
        .argParser(stages)
        .default([...STAGES], 'all'),
    )
    .addOption(
      new Option('--streams <number>', 'concurrent responses')
        .argParser(integer(1, 1024))
        .default(CONCURRENCY, '8 for each CPU core'),
    )
    .option(
      '--time <number>',
      'number of scored responses for which each measure is timed',
      integer(0, 1e6),
      0,
    )
    .optionsGroup('For research:')
    .addOption(new Option('--suite <name>', 'benchmark suite').choices(NAMED_SUITES))
    .addOption(
      new Option(
        '--measures <names>',
        'comma-separated uncertainty measures, optionally with settings, see below',
      ).argParser(measures),
    );
}

/** @throws UsageError for options that do not go together */
export function resolveOptions(given: GivenOptions): RunOptions {
  const { suite, questions, examples, check, score, plan: _, ...rest } = given;
  if ((suite === undefined) === (questions === undefined))
    throw new UsageError('--suite or --questions: one of them is required');
  if (questions === undefined) {
    if (examples !== undefined) throw new UsageError('--examples: requires --questions');
    if (check !== 'rules' && check !== 'judge')
      throw new UsageError(`--check: must be rules or judge for --suite, not ${JSON.stringify(check)}`);
    return { ...rest, suite: suite!, check, score: score ?? 'wrong' };
  }
  const task = openTask(questions, check, examples);
  return {
    ...rest,
    suite: 'own',
    task,
    check: task.check === 'judge' ? 'judge' : 'rules',
    score: score ?? 'all',
  };
}

export const list = (text: string): string[] => text.split(',').map((name) => name.trim());

export function measures(text: string): Measure[] {
  try {
    return parseMeasures(text);
  } catch (error) {
    if (error instanceof SettingsError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

function stages(text: string): StageName[] {
  return list(text).map((name) => {
    const stage = STAGES.find((known) => known === name);
    if (!stage) throw new InvalidArgumentError(`"${name}" is not one of ${STAGES.join(', ')}.`);
    return stage;
  });
}

export const MEASURE_NAMES = MEASURE_METHODS.join(', ');
