import { Command, Option } from 'commander';
import { fromEvent, lastValueFrom, takeUntil, tap } from 'rxjs';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import type { DeviceChoice, Precision } from '../../src/engine/device.js';
import { Engine } from '../../src/engine/engine.js';
import { UsageError } from '../../src/files/file-errors.js';
import { DEFAULT_GUARD } from '../../src/guard/guard.js';
import { calibrationPromptsPath, reasonerPath } from '../../src/package-root.js';
import type { CalibrationFile } from '../../src/risk/calibration.js';
import {
  CALIBRATION_FILE,
  calibrationFileOf,
  calibrationOf,
  keptJudge,
  readCalibration,
} from '../../src/risk/calibration-file.js';
import { FalseAlarmCheck } from '../../src/risk/false-alarms.js';
import { riskModel } from '../../src/risk/risk-model.js';
import { MIN_STEPS, MIN_TOKENS } from '../../src/risk/running-risk.js';
import { type CollectedAnswer, collectScores } from '../../src/stream/collect-scores.js';
import { METHODS, type Method } from '../../src/uncertainty/method-names.js';
import { type AbsoluteScoring, absoluteScoring } from '../../src/uncertainty/settings.js';
import { reportDevices } from '../devices.js';
import { reportOpening } from '../opening-progress.js';
import { writableFolder } from '../option-file.js';
import { deviceOption, integer, modelOption, precisionOption, real } from '../options.js';
import { Progress } from '../progress.js';
import { addScoringOption, METHOD_HELP, methodsOption, scoringOf } from '../scoring-options.js';
import { shellWord } from '../shell-word.js';
import { remark, say } from '../terminal.js';
import { compareLabels } from './calibrate-labels.js';
import { type CalibrationPrompt, readPrompts } from './calibrate-prompts.js';
import { formatFalseAlarms, formatThresholds, guardWords, thresholdsOf } from './calibrate-report.js';
import { CalibrationRun, requestsOf, textOf } from './calibration-run.js';

/** The options of scoring are read by {@link scoringOf}. */
interface CalibrateOptions {
  readonly scoring?: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly device: DeviceChoice;
  readonly precision?: Precision;
  readonly input?: string;
  readonly output?: string;
  readonly check?: number;
  readonly methods: Method[];
  readonly method?: Method;
  readonly temperature?: number;
  readonly seed: number;
  readonly maxTokens: number;
  readonly json?: boolean;
  readonly labels?: string;
  readonly answers?: string;
}

const DEFAULT_MAX_TOKENS = 1024;

export function calibrateCommand(): Command {
  const command = new Command('calibrate')
    .addOption(modelOption())
    .option(
      '--input <file>',
      'file of prompts in JSON Lines; - reads standard input (default: 411 prompts that come with flinch, most of them with their answers)',
    )
    .option('--temperature <number>', 'sampling temperature (default: set by the model)', real(0, 2))
    .option('--output <file>', `file to write (default: ${CALIBRATION_FILE} in the model folder)`)
    .option(
      '--check <prompts>',
      'write nothing; measure the false alarm rates on this many fresh prompts',
      integer(1, 1e6),
    )
    .option('--json', 'print the summary as JSON')
    .optionsGroup('Model and answers:')
    .addOption(deviceOption())
    .addOption(precisionOption())
    .option('--seed <number>', 'seed of answers and noise', integer(0, 2 ** 30), 0)
    .option('--max-tokens <number>', 'maximum length of an answer', integer(1, 1 << 20), DEFAULT_MAX_TOKENS)
    .optionsGroup('Labels of answers:')
    .addOption(
      new Option(
        '--labels <file>',
        'write nothing: compare the verdicts of --answers with these labels, in JSON Lines',
      ).conflicts(['input', 'check', 'method']),
    )
    .addOption(
      new Option('--answers <file>', 'the recorded answers: messages to a webhook, in JSON Lines').conflicts(
        'output',
      ),
    )
    .optionsGroup('For research:')
    .addOption(methodsOption())
    .addOption(
      new Option(
        '--method <name>',
        `the method that judges where nobody says otherwise, one of --methods (default: that of the calibration before, or else ${DEFAULT_GUARD.method})`,
      ).choices(METHODS),
    );
  return addScoringOption(command, { finished: false })
    .addHelpText(
      'after',
      `
${METHOD_HELP}

Each input line has exactly one of these fields; others are ignored:
  {"prompt" | "messages" | "question"}
A prompt is raw text. A question is a user's message, or raw text for a model without a chat template.
With "answers": ["…"] beside it, only a right answer counts as ordinary: flags then find more of the
wrong ones. Without, every answer counts. The embedded model comes with a calibration of its own
problems, where only steps before the first wrong one count.

A line of --labels is {"id": "chatcmpl-…", "label": …}, with right or wrong. The labels show how many wrong answers the verdict found, and at which rate.

Ctrl-C calibrates with the answers so far, if they are enough and more than before. The same command
continues, also with more prompts.

A calibration is valid for one model and for the settings that affect the scores. Entries in the
file for the same methods and settings are replaced; others are kept, unless they were made by
another version of the rule for steps. A rate below 1 / (number of scores) never raises an alarm: a
rate of 0.1 % per step needs thousands of steps.

Examples:
  $ flinch calibrate --model ./model.gguf
  $ flinch calibrate --model ./model.gguf --input mine.jsonl --temperature 0.5
  $ flinch calibrate --model ./model.gguf --input fresh.jsonl --check 200 --json
  $ flinch calibrate --labels labels.jsonl --answers webhook.jsonl`,
    )
    .action(calibrate);
}

async function calibrate(options: CalibrateOptions): Promise<void> {
  const { labels, answers, methods, method } = options;
  if ((labels === undefined) !== (answers === undefined))
    throw new UsageError('--labels, --answers: one requires the other');
  if (labels !== undefined && answers !== undefined) return compareLabels({ ...options, labels, answers });
  if (method && !methods.includes(method))
    throw new UsageError(`--method: ${method} is not one of --methods`);
  const asked = scoringOf(options, methods, options.seed);
  const { device, precision } = options;
  const engine = await Engine.open(options.model, {
    device,
    ...reportOpening(),
    ...(precision && { precision }),
  });
  try {
    const { checkpoint } = engine;
    const file = options.output ?? calibrationFileOf(checkpoint);
    // Everything that can be wrong is found out before hours of writing.
    if (options.check === undefined) await writableFolder('--output', file);
    const kept = options.check === undefined ? await keptJudge(checkpoint, file) : undefined;
    const checked = options.check === undefined ? null : await calibrationToCheck(checkpoint, options);
    const scoring = await absoluteScoring(asked, checkpoint.embeddingRms);
    const prompts = await promptsOf(engine, options);
    await reportDevices(engine, options.device, ['decode', 'score']);
    if (options.check === undefined) await collect(engine, options, scoring, prompts, { file, kept });
    else await check(engine, options, scoring, prompts, checked);
  } finally {
    await engine.close();
  }
}

/** The file that is named, else the one that the model is served with. */
const calibrationToCheck = (checkpoint: Checkpoint, { output }: CalibrateOptions) =>
  output === undefined ? calibrationOf(checkpoint) : readCalibration(output);

/** @throws UsageError for the embedded model, which can answer few of them */
function promptsOfFlinch({ dir }: Checkpoint): string {
  if (dir === reasonerPath)
    throw new UsageError(
      '--input: is required for the embedded model, which answers few everyday prompts; without a calibration of your own, the one that comes with it is used',
    );
  remark(
    'without --input, these are the 411 prompts that come with flinch: word problems, short questions and everyday requests',
  );
  return calibrationPromptsPath;
}

/** Each answer has a seed of its own, the next number. A check uses those below 0, to be fresh. */
const firstSeed = ({ seed, check }: CalibrateOptions, count: number): number =>
  check === undefined ? seed : -seed - count;

async function promptsOf(
  { checkpoint, contextLength }: Engine,
  { input, check }: CalibrateOptions,
): Promise<CalibrationPrompt[]> {
  const prompts = await readPrompts(input ?? promptsOfFlinch(checkpoint), checkpoint, check);
  for (const [i, { promptIds }] of prompts.entries()) {
    const { length } = promptIds;
    if (length === 0) throw new UsageError(`prompt ${i + 1}: needs at least one token`);
    if (length < contextLength) continue;
    const problem = `has ${length} tokens and fills the context length of ${contextLength}`;
    throw new UsageError(`prompt ${i + 1}: ${problem}`);
  }
  return prompts;
}

async function collect(
  engine: Engine,
  options: CalibrateOptions,
  scoring: AbsoluteScoring,
  prompts: readonly CalibrationPrompt[],
  { file, kept }: { readonly file: string; readonly kept: Method | undefined },
): Promise<void> {
  const { method, json, temperature, seed, maxTokens } = options;
  const answering = { temperature, seed, maxTokens };
  const run = await CalibrationRun.open({ engine, scoring, prompts, file, ...answering });
  const isWhole = await forEachAnswer(engine, scoring, run, (answer, i) => run.add(i, answer));
  const { counts, model } = run;
  if (isWhole && !run.isEnough) {
    const needed = `at least ${MIN_TOKENS} and ${MIN_STEPS} are needed`;
    throw new UsageError(`${counts.tokens} ordinary tokens and ${counts.steps} steps are too few: ${needed}`);
  }
  const written = run.isEnough ? await run.write(method ?? kept) : null;
  const all = prompts.length;
  if (!written) {
    const log = `${run.answered} of ${all} answers are kept in ${run.logFile}; the same command continues`;
    return remark(run.answered > 0 ? `stopped: ${log}` : 'stopped before the first answer: nothing is kept');
  }
  const calibration = written.calibrations.at(-1)!;
  const { settings, collected } = calibration;
  const judge = written.method ?? DEFAULT_GUARD.method;
  const thresholds = thresholdsOf(calibration, judge);
  const { responses, tokens, steps } = counts;
  if (json) {
    say(`${JSON.stringify({ output: file, model, method: judge, settings, collected, thresholds })}\n`);
  } else {
    const why = method ? 'as --method says' : kept ? 'as before' : 'the default';
    const judging = written.calibrations.findLast(({ methods }) => methods[judge]);
    const what = judging ? guardWords(judging, judge) : 'not calibrated, as it is not among --methods';
    say(`${responses} answers, ${tokens} ordinary tokens, ${steps} steps. Scores above these are flagged:\n`);
    say(`${formatThresholds(thresholds)}\n${file}\njudged by ${judge}, ${why}: ${what}\n`);
    say(`\nServe it:  ${serveCommand(options)}\n`);
  }
  if (!isWhole) remark(`stopped: ${file} is of ${responses} of ${all} answers; the same command continues`);
}

/** Serves the model with what was written. */
const serveCommand = ({ model, output }: CalibrateOptions): string =>
  [
    'flinch serve',
    ...(model === reasonerPath ? [] : ['--model', shellWord(model)]),
    ...(output === undefined ? [] : ['--calibration', shellWord(output)]),
  ].join(' ');

async function check(
  engine: Engine,
  options: CalibrateOptions,
  scoring: AbsoluteScoring,
  prompts: readonly CalibrationPrompt[],
  calibration: CalibrationFile | null,
): Promise<void> {
  const { risks, warnings } = await riskModel(engine.checkpoint, calibration, scoring, options.methods);
  const methods = options.methods.filter((method) => risks.calibrated(method));
  if (methods.length === 0) throw new UsageError(`nothing to check: ${warnings.join('; ')}`);
  for (const warning of warnings) remark(warning);
  const alarms = new FalseAlarmCheck(risks, methods);
  const seed = firstSeed(options, prompts.length);
  const requests = requestsOf(engine, prompts, { ...options, seed });
  const asked = { requests, missing: [...requests.keys()] };
  let ordinary = 0;
  const add = (answer: CollectedAnswer, i: number): void => {
    if (!prompts[i]!.isOrdinary(textOf(answer))) return;
    alarms.add(answer);
    ordinary += 1;
  };
  const whole = await forEachAnswer(engine, { ...scoring, methods }, asked, add);
  if (!whole) return remark('stopped: a check keeps nothing');
  const table = alarms.table();
  if (options.json) {
    say(`${JSON.stringify({ responses: ordinary, falseAlarms: table })}\n`);
    return;
  }
  say(`${ordinary} fresh ordinary answers. Measured false alarm rates with 95 % intervals:\n`);
  say(`${formatFalseAlarms(table)}\n`);
}

/** @returns whether all were answered; Ctrl-C ends it before, and is the command's failure */
async function forEachAnswer(
  engine: Engine,
  scoring: AbsoluteScoring,
  { requests, missing }: Pick<CalibrationRun, 'requests' | 'missing'>,
  use: (answer: CollectedAnswer, index: number) => void,
): Promise<boolean> {
  let left = missing.length;
  const progress = new Progress(requests.length, 'answers', requests.length - left);
  const interrupted = fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)));
  const remaining = missing.map((i) => requests[i]!);
  const answers = collectScores(engine, remaining, scoring).pipe(
    tap((answer) => {
      use(answer, missing[answer.request]!);
      left -= 1;
      progress.advance();
    }),
    takeUntil(interrupted),
  );
  try {
    await lastValueFrom(answers, { defaultValue: null });
  } finally {
    progress.stop();
  }
  return left === 0;
}
