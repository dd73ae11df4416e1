import { type Command, InvalidArgumentError, Option } from 'commander';
import { type DeviceChoice, SettingsError } from 'flinch';
import { deviceOption, integer, modelOption, real, UsageError } from 'flinch/internals';
import { ZodError } from 'zod';
import { CONCURRENCY } from '../concurrent-map.js';
import { ACCEPTED_SIMILARITY } from '../judge/match-step.js';
import type { Measure } from '../measures/measure.js';
import { MEASURE_METHODS, parseMeasures } from '../measures/parse-measure.js';
import type { WhichScored } from '../records/selection.js';
import { type RunSettings, type Shard, STEP_MODES } from '../records/settings.js';
import { type Columns, HOW_CHECKED, openTask, parseColumns, type Task } from '../suites/own/task.js';
import { NAMED_SUITES, type SuiteName } from '../suites/suite.js';
import { DEFAULT_SUITE_SETTINGS, type SuiteSettings, suiteSettingsSchema } from '../suites/suites.js';
import { DEFAULT_SYSTEM } from './prompt.js';
import { STAGES, type StageName } from './stage-names.js';

/** Options of labels by rollouts. */
export interface RolloutOptions {
  readonly rollouts: number;
  readonly rolloutShare: number;
  readonly rolloutTemperature: number;
  readonly completer?: string;
  readonly completerModel?: string;
  readonly completerKeyEnv?: string;
}

/** Options as they are given. */
export interface GivenOptions extends Omit<RunOptions, 'suite' | 'task' | 'score' | 'check'> {
  readonly suite?: SuiteName;
  readonly questions?: string;
  readonly columns?: Columns;
  readonly prompt?: string;
  readonly check: string;
  readonly score?: WhichScored;
}

export interface RunOptions extends RolloutOptions {
  readonly suite: SuiteName;
  /** The questions of `own`. */
  readonly task?: Task;
  readonly model: string;
  readonly device: DeviceChoice;
  readonly out: string;
  readonly data?: string;
  readonly suiteSettings: SuiteSettings;
  readonly subsets?: string[];
  readonly generators?: string[];
  readonly limit?: number;
  readonly repeat: number;
  readonly seed: number;
  readonly measures?: Measure[];
  readonly methods?: Measure[];
  readonly perSubset?: number;
  readonly score: WhichScored;
  readonly steps: RunSettings['steps'];
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly cutOff?: 'wrong' | 'left-out';
  readonly system?: string;
  readonly sampleTemperature: number;
  readonly upstream?: string;
  readonly upstreamModel?: string;
  readonly upstreamKeyEnv?: string;
  readonly responses?: string;
  readonly nli?: string;
  readonly crossEncoder?: string;
  readonly embedder?: string;
  readonly check: RunSettings['check'];
  readonly label?: 'judge' | 'rollouts';
  readonly judge?: string;
  readonly judgeModel?: string;
  readonly judgeTemperature?: number;
  readonly judgeAccept: number;
  readonly claims?: string;
  readonly evidence?: string;
  readonly stages: StageName[];
  readonly shard?: Shard;
  readonly streams: number;
  readonly time: number;
  readonly yes?: boolean;
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
  const all = command
    .option('--questions <file>', "your own questions: JSON Lines, CSV, TSV, or a task's YAML, see below")
    .addOption(new Option('--suite <name>', 'benchmark suite').choices(NAMED_SUITES))
    .addOption(modelOption())
    .addOption(deviceOption())
    .requiredOption('--out <folder>', 'folder for all results; an interrupted run continues there')
    .addOption(
      new Option(
        '--measures <names>',
        'comma-separated uncertainty measures, optionally with settings, see below',
      ).argParser(measures),
    )
    .option('--json', 'print the summary as JSON')
    .optionsGroup('Your own questions:')
    .option(
      '--columns <pairs>',
      'columns with other names, such as question=Frage,answer=Antwort,id=doc.nr',
      columns,
    )
    .option('--prompt <text>', 'what is asked, with {question} in it; by default the question alone')
    .optionsGroup('Problems:')
    .option('--data <folder>', 'folder of the data sets; by default that of flinch data pull')
    .addOption(
      new Option('--suite-settings <json>', 'settings of the suite, such as {"math":{"drawings":true}}')
        .argParser(suiteSettings)
        .default(DEFAULT_SUITE_SETTINGS, 'see settings.json'),
    )
    .option('--subsets <names>', 'only these subsets, comma-separated', list)
    .option(
      '--generators <names>',
      'only responses of processbench that these models wrote, comma-separated',
      list,
    )
    .option(
      '--limit <number>',
      'number of problems, spread evenly over the subsets; a larger number goes on in the same folder',
      integer(1, 1e6),
    )
    .option(
      '--repeat <number>',
      'ask each question up to so often, until its subset has the wrong responses of --per-subset',
      integer(1, 1000),
      1,
    )
    .option(
      '--seed <number>',
      'seed of the responses, of generated problems, and of the order in which questions are drawn',
      integer(0, 2 ** 30),
      1,
    )
    .optionsGroup('Responses:')
    .option('--temperature <number>', 'sampling temperature', real(0, 2), 0.2)
    .option('--top-p <number>', 'cumulative probability to sample from', real(0.01, 1), 1)
    .option('--max-tokens <number>', 'maximum length of a response', integer(1, 65_536), 1024)
    .addOption(
      new Option(
        '--cut-off <what>',
        'responses that are cut off there: wrong, the default for --questions; or left out of all tables, as in the paper',
      ).choices(['wrong', 'left-out']),
    )
    .option(
      '--system <text>',
      `system message; empty for none. Default: "${DEFAULT_SYSTEM}" if the template supports it`,
    )
    .option(
      '--sample-temperature <number>',
      'sampling temperature of the additional responses for graph and self_consistency',
      real(0, 2),
      0.7,
    )
    .optionsGroup('Written by others (by default --model writes):')
    .option('--upstream <url>', 'URL of an OpenAI-compatible server that writes the responses, including /v1')
    .option('--upstream-model <name>', "the model's name on that server")
    .option('--upstream-key-env <variable>', "environment variable with that server's API key")
    .option('--responses <file>', 'responses that are written already, JSON Lines')
    .optionsGroup('Evaluation:')
    .addOption(
      new Option(
        '--score <which>',
        'wrong: wrong responses with a known first wrong step; all, the default for --questions; a number: also this many right responses per subset',
      )
        .argParser(whichScored)
        .default(undefined, 'wrong'),
    )
    .option(
      '--per-subset <number>',
      'number of wrong responses per subset; no more are written once each subset has them',
      integer(1, 1e6),
    )
    .addOption(
      new Option('--steps <mode>', 'given: steps of the suite if it has any, otherwise sentences')
        .choices(STEP_MODES)
        .default('given'),
    )
    .option('--nli <folder>', 'ONNX model for natural language inference, for ccp')
    .option('--cross-encoder <folder>', 'ONNX model for text similarity, for token_sar')
    .option('--embedder <folder>', 'ONNX model for sentence embeddings, for graph')
    .option(
      '--check <by>',
      `how answers are checked: rules, judge; for --questions also ${HOW_CHECKED}, by default as the columns suggest`,
      'rules',
    )
    .option(
      '--judge <url>',
      'URL of an OpenAI-compatible API, including /v1; the key is read from FLINCH_JUDGE_KEY',
    )
    .option('--judge-model <name>', 'model name of the judge')
    .option('--judge-temperature <number>', "temperature of the judge; by default the server's", real(0, 2))
    .option(
      '--judge-accept <number>',
      'minimum similarity between a quoted step or a claim of --claims and the text of the response',
      real(0.5, 1),
      ACCEPTED_SIMILARITY,
    )
    .addOption(
      new Option(
        '--label <by>',
        'how first wrong steps are found; by default as the suite has it: labels, a program, or else a judge',
      ).choices(['judge', 'rollouts']),
    )
    .optionsGroup('Labels by rollouts:');
  return addRolloutOptions(all, 'the model of --upstream, or else --model')
    .optionsGroup('Claims, of factscore:')
    .option('--evidence <file>', 'passages for checking claims, JSON Lines: {"id", "passages"}')
    .option(
      '--claims <file>',
      'labelled claims, instead of those of a judge, JSON Lines: {"id", "claims": [{"claim", "words", "supported"}]}',
    )
    .optionsGroup('Work:')
    .option('--stages <names>', `stages to run, among ${STAGES.join(', ')}`, stages, [...STAGES])
    .option(
      '--shard <i/n>',
      'run only shard i of n, in a folder of its own in --out; flinch bench merge joins the shards',
      shard,
    )
    .addOption(streamsOption('concurrent responses'))
    .option(
      '--time <number>',
      'number of scored responses for which each measure is timed',
      integer(0, 1e6),
      0,
    );
}

/** @param completer the model that goes on by default */
export function addRolloutOptions(command: Command, completer: string): Command {
  return command
    .option('--rollouts <number>', 'maximum number of completions after each step', integer(1, 1024), 8)
    .option(
      '--rollout-share <number>',
      'minimum share of the completions that must reach the answer; 0: one of them',
      real(0, 1),
      0,
    )
    .option('--rollout-temperature <number>', 'sampling temperature of the completions', real(0, 2), 0.7)
    .option(
      '--completer <url>',
      `URL of an OpenAI-compatible server that writes the completions, including /v1; by default ${completer}`,
    )
    .option('--completer-model <name>', "the model's name on that server")
    .option('--completer-key-env <variable>', "environment variable with that server's API key");
}

/** @param what is under way at once */
export const streamsOption = (what: string): Option =>
  new Option('--streams <number>', what)
    .argParser(integer(1, 1024))
    .default(CONCURRENCY, '8 for each CPU core');

/** @throws UsageError for options that do not go together */
export function resolveOptions(given: GivenOptions): RunOptions {
  const { suite, questions, columns, prompt, check, score, cutOff, ...rest } = given;
  if ((suite === undefined) === (questions === undefined))
    throw new UsageError('--suite or --questions: one of them is required');
  if (questions === undefined) {
    const odd = columns ? '--columns' : prompt === undefined ? null : '--prompt';
    if (odd) throw new UsageError(`${odd}: is only for --questions`);
    if (check !== 'rules' && check !== 'judge')
      throw new UsageError(`--check: must be rules or judge for --suite, not ${JSON.stringify(check)}`);
    return { ...rest, suite: suite!, check, score: score ?? 'wrong', cutOff: cutOff ?? 'left-out' };
  }
  const task = openTask(questions, {
    check,
    ...(columns && { columns }),
    ...(prompt !== undefined && { prompt }),
  });
  return {
    ...rest,
    suite: 'own',
    task,
    check: task.check === 'judge' ? 'judge' : 'rules',
    score: score ?? 'all',
    cutOff: cutOff ?? 'wrong',
  };
}

/** Measures that were requested by name. */
export const namedMeasures = ({
  measures,
  methods,
}: Pick<RunOptions, 'measures' | 'methods'>): Measure[] | undefined => measures ?? methods;

function columns(text: string): Columns {
  try {
    return parseColumns(text);
  } catch (error) {
    if (error instanceof UsageError) throw new InvalidArgumentError(error.message);
    throw error;
  }
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

function suiteSettings(text: string): SuiteSettings {
  try {
    return suiteSettingsSchema.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) throw new InvalidArgumentError('Must be valid JSON.');
    if (!(error instanceof ZodError)) throw error;
    const [issue] = error.issues;
    throw new InvalidArgumentError(`${issue?.path.join('.')}: ${issue?.message}.`);
  }
}

function whichScored(text: string): WhichScored {
  if (text === 'wrong' || text === 'all') return text;
  return integer(0, 1e6)(text);
}

function stages(text: string): StageName[] {
  return list(text).map((name) => {
    const stage = STAGES.find((known) => known === name);
    if (!stage) throw new InvalidArgumentError(`"${name}" is not one of ${STAGES.join(', ')}.`);
    return stage;
  });
}

function shard(text: string): Shard {
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  const shard = { index: Number(index) - 1, of: Number(of) };
  if (shard.index >= 0 && shard.index < shard.of) return shard;
  throw new InvalidArgumentError('Must have the form i/n, such as 1/4.');
}

export const MEASURE_NAMES = MEASURE_METHODS.join(', ');
