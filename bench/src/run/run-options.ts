import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { DeviceChoice } from 'flinch/internals';
import { deviceOption, integer, modelOption, real, SettingsError } from 'flinch/internals';
import { ZodError } from 'zod';
import { ACCEPTED_SIMILARITY } from '../judge/match-step.js';
import type { Measure } from '../measures/measure.js';
import { MEASURE_METHODS, parseMeasures } from '../measures/parse-measure.js';
import { SUITES, type SuiteName } from '../suites/suite.js';
import { DEFAULT_SUITE_SETTINGS, type SuiteSettings, suiteSettingsSchema } from '../suites/suites.js';
import { DEFAULT_SYSTEM } from './prompt.js';
import type { WhichScored } from './selection.js';
import { type RunSettings, type Shard, STEP_MODES } from './settings.js';
import { STAGES, type StageName } from './stage-names.js';

export interface RunOptions {
  readonly suite: SuiteName;
  readonly model: string;
  readonly device: DeviceChoice;
  readonly out: string;
  readonly data?: string;
  readonly suiteSettings: SuiteSettings;
  readonly subsets?: string[];
  readonly limit?: number;
  readonly seed: number;
  readonly measures?: Measure[];
  readonly methods?: Measure[];
  readonly perSubset?: number;
  readonly score: WhichScored;
  readonly steps: RunSettings['steps'];
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly system?: string;
  readonly sampleTemperature: number;
  readonly nli?: string;
  readonly crossEncoder?: string;
  readonly embedder?: string;
  readonly check: RunSettings['check'];
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
  readonly json?: boolean;
}

/** Those of the paper's tables. */
export const DEFAULT_MEASURES =
  'adversarial,random,tokur_eu,nll,entropy,margin,ccp,token_sar,graph,self_consistency';

export function addRunOptions(command: Command): Command {
  return command
    .addOption(new Option('--suite <name>', 'what is asked').choices(SUITES).makeOptionMandatory())
    .addOption(modelOption())
    .addOption(deviceOption())
    .requiredOption('--out <folder>', 'where everything is kept; a run that was interrupted goes on there')
    .addOption(
      new Option(
        '--measures <names>',
        'of uncertainty, with commas between, each with settings if it has any: see below',
      ).argParser(measures),
    )
    .addOption(new Option('--methods <names>', 'another name of --measures').argParser(measures).hideHelp())
    .option('--json', 'print the summary as JSON')
    .optionsGroup('Problems:')
    .option('--data <folder>', 'files of the suites; by default where flinch data pull puts them')
    .addOption(
      new Option(
        '--suite-settings <json>',
        'choices that nobody prescribes, such as {"math":{"drawings":true}}',
      )
        .argParser(suiteSettings)
        .default(DEFAULT_SUITE_SETTINGS, 'see settings.json'),
    )
    .option('--subsets <names>', 'these alone, with commas between', list)
    .option('--limit <number>', 'so many problems, evenly of all subsets', integer(1, 1e6))
    .option(
      '--seed <number>',
      'of the responses; of the problems too where these are made',
      integer(0, 2 ** 30),
      1,
    )
    .optionsGroup('Responses:')
    .option('--temperature <number>', 'that they are written at', real(0, 2), 0.2)
    .option('--top-p <number>', 'of the probability they are drawn from', real(0.01, 1), 1)
    .option(
      '--max-tokens <number>',
      'longer ones are cut, and left out of every table',
      integer(1, 65_536),
      1024,
    )
    .option(
      '--system <text>',
      `the system message; empty for none. By default "${DEFAULT_SYSTEM}" where the template has a place for one`,
    )
    .option(
      '--sample-temperature <number>',
      'of further responses, for graph and self_consistency',
      real(0, 2),
      0.7,
    )
    .optionsGroup('Evaluation:')
    .addOption(
      new Option(
        '--score <which>',
        'wrong: wrong responses with a known first wrong step; all; or a number: besides the wrong ones so many right ones of each subset',
      )
        .argParser(whichScored)
        .default('wrong'),
    )
    .option(
      '--per-subset <number>',
      'the most wrong responses of each subset, the first ones',
      integer(1, 1e6),
    )
    .addOption(
      new Option('--steps <mode>', 'given: as the suite has them, else sentences')
        .choices(STEP_MODES)
        .default('given'),
    )
    .option('--nli <folder>', 'ONNX model of natural language inference, for ccp')
    .option('--cross-encoder <folder>', 'ONNX model of the similarity of texts, for token_sar')
    .option('--embedder <folder>', 'ONNX model of sentence embeddings, for graph')
    .addOption(
      new Option('--check <by>', 'who tells whether an answer is right')
        .choices(['rules', 'judge'])
        .default('rules'),
    )
    .option(
      '--judge <url>',
      'OpenAI-compatible API, up to and with /v1; its key is read from FLINCH_JUDGE_KEY',
    )
    .option('--judge-model <name>', 'what the judge is called there')
    .option('--judge-temperature <number>', "by default the server's own", real(0, 2))
    .option(
      '--judge-accept <number>',
      'how alike a step that the judge quotes, or a claim of --claims, must be to a text of the response',
      real(0.5, 1),
      ACCEPTED_SIMILARITY,
    )
    .optionsGroup('Claims, of factscore:')
    .option(
      '--evidence <file>',
      'passages that the judge checks them against, JSON Lines: {"id", "passages"}',
    )
    .option(
      '--claims <file>',
      'instead of a judge: those of the responses, JSON Lines: {"id", "claims": [{"claim", "words", "supported"}]}',
    )
    .optionsGroup('Work:')
    .option('--stages <names>', `only some of ${STAGES.join(', ')}`, stages, [...STAGES])
    .option(
      '--shard <i/n>',
      'every n-th problem only, from the i-th on; flinch bench merge joins them',
      shard,
    )
    .option(
      '--streams <number>',
      'responses that are written at once',
      integer(1, 1024),
      8 * availableParallelism(),
    )
    .option('--time <number>', 'scored responses whose measures are timed one by one', integer(0, 1e6), 0);
}

const list = (text: string): string[] => text.split(',').map((name) => name.trim());

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
    if (error instanceof SyntaxError) throw new InvalidArgumentError('Is not valid JSON.');
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
  throw new InvalidArgumentError('Must be such as 1/4 or 4/4.');
}

export const MEASURE_NAMES = MEASURE_METHODS.join(', ');
