import { text as readAll } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { fromEvent, lastValueFrom, type Observable, takeUntil, takeWhile, tap } from 'rxjs';
import type { DeviceChoice, Precision } from '../../src/engine/device.js';
import { Engine } from '../../src/engine/engine.js';
import type { GenerateRequest } from '../../src/engine/generation.js';
import { chalk } from '../../src/files/colours.js';
import { UsageError } from '../../src/files/file-errors.js';
import { checkPromise, DEFAULT_GUARD, type Guard, neverFires } from '../../src/guard/guard.js';
import { checkGuard, guardOf } from '../../src/guard/guard-fields.js';
import { guardedGeneration } from '../../src/guard/guarded-generation.js';
import type { CalibrationFile } from '../../src/risk/calibration.js';
import { calibrationOf, judgeOf } from '../../src/risk/calibration-file.js';
import type { RiskModel } from '../../src/risk/risk.js';
import { riskModel } from '../../src/risk/risk-model.js';
import type { GuardEvent } from '../../src/stream/events.js';
import { FlowGate } from '../../src/stream/flow-gate.js';
import { generate } from '../../src/stream/generate.js';
import { eventFields } from '../../src/stream/wire.js';
import type { ChatMessage } from '../../src/tokenizer/chat-template.js';
import { encodePrompt } from '../../src/tokenizer/prompt.js';
import { DEFAULT_METHODS, isProbability, METHODS, type Method } from '../../src/uncertainty/method-names.js';
import { type AbsoluteScoring, absoluteScoring, type Scoring } from '../../src/uncertainty/settings.js';
import { reportDevices } from '../devices.js';
import { fieldOption } from '../field-option.js';
import { reportOpening } from '../opening-progress.js';
import { deviceOption, integer, modelOption, parseMethods, precisionOption, real } from '../options.js';
import { addScoringOption, METHOD_HELP, scoringOf } from '../scoring-options.js';
import { paint, remark, say, streams } from '../terminal.js';
import { uncalibrated } from '../uncalibrated.js';
import { type AnswerPainter, answerPainter, riskScale, scoreScale, type Write } from './chat-painter.js';
import { type Answered, converse } from './converse.js';
import { addGuardOptions, guardFieldsOf } from './guard-options.js';
import { wordWrap } from './word-wrap.js';

/** The options of scoring and guard are read by {@link guardFieldsOf} and {@link scoringOf}. */
interface ChatOptions {
  readonly model: string;
  readonly device: DeviceChoice;
  readonly precision?: Precision;
  readonly calibration?: string;
  readonly system?: string;
  readonly temperature?: number;
  readonly seed?: number;
  readonly maxTokens?: number;
  readonly score: boolean;
  readonly methods?: readonly Method[];
  readonly color: Method;
  readonly method?: Method;
  readonly scoring?: Readonly<Record<string, unknown>>;
  readonly json?: boolean;
}

/** What is given; without a colour, it depends on the calibration of the model. */
type GivenOptions = Omit<ChatOptions, 'color'> & { readonly color?: Method };

/** How an answer is watched while it is written. */
interface Watch {
  readonly scoring: AbsoluteScoring;
  readonly guard: Guard;
  /** Shared by all answers of the chat. */
  readonly risks: RiskModel;
}

export function chatCommand(): Command {
  const command = new Command('chat')
    .argument('[question]', 'default: prompt at a terminal, otherwise read standard input')
    .addOption(modelOption())
    .option(
      '--temperature <number>',
      'sampling temperature; 0 is greedy (default: set by the model)',
      real(0, 2),
    )
    .option('--json', 'print events as JSON Lines');
  addGuardOptions(command, 'that of --color')
    .optionsGroup('Model and answer:')
    .addOption(deviceOption())
    .addOption(precisionOption())
    .option(
      '--calibration <file>',
      'calibration of the model (default: the one beside it, or else the one that comes with flinch)',
    )
    .option('--system <text>', 'system message')
    .option('--seed <number>', 'seed of sampling and noise (default: random)', integer(0, 2 ** 31 - 1))
    .option(
      '--max-tokens <number>',
      'maximum length of the answer (default: the rest of the context)',
      integer(1, 1 << 20),
    )
    .optionsGroup('For research:')
    .option('--no-score', 'generate without scoring')
    .addOption(
      new Option(
        '--color <method>',
        `score shown by the colours (default: the one that the calibration names, or else ${DEFAULT_GUARD.method})`,
      ).choices(METHODS),
    )
    .addOption(
      fieldOption('methods', '<names>', `${DEFAULT_METHODS.join(',')}, and those of --color and --method`)
        .argParser(parseMethods)
        .conflicts('score'),
    );
  return addScoringOption(command, { finished: false })
    .addHelpText(
      'after',
      `
${METHOD_HELP}

A step is flagged if its score is among the highest of ordinary scores (see flinch calibrate).
Retracted text is only shown with --json; without it, rollback uses --delivery held.

Examples:
  $ flinch chat "What is (47 - 12) * 3 + 8?"
  $ flinch chat --json "Maya has 11 stones. Maya sells 3. How many?" | jq .
  $ flinch chat --methods nll,entropy,margin "What is 12 + 30 - 5?"
  $ flinch chat --action rollback --rate 0.2 "What is 12 + 30 - 5?"
  $ flinch chat    (a conversation)`,
    )
    .action(chat);
}

async function chat(question: string | undefined, given: GivenOptions): Promise<void> {
  const interactive = question === undefined && streams.stdin.isTTY === true;
  scoringFor(withColor(given)); // options that do not fit together are found before the model is opened
  const { device, precision, calibration } = given;
  const engine = await Engine.open(given.model, {
    device,
    ...reportOpening(),
    calibrationFile: calibration,
    ...(precision && { precision }),
  });
  try {
    const file = given.score ? await calibrationOf(engine.checkpoint) : null;
    const options = withColor(given, await judgeOf(engine.checkpoint, file));
    const scoring = scoringFor(options);
    const watch = scoring && (await watchOf(engine, options, scoring, file));
    await reportDevices(engine, options.device, watch ? ['decode', 'score'] : ['decode']);
    const { system, maxTokens } = options;
    const ask = (messages: readonly ChatMessage[], interrupted: Observable<unknown>): Promise<Answered> =>
      answer(engine, messages, options, watch, interrupted);
    if (interactive) await converse(engine, { system, maxTokens, ask });
    else await askOnce(engine, question ?? (await readAll(streams.stdin)).trim(), options, watch);
  } finally {
    await engine.close();
  }
}

/** By default the colours show the method that judges, if it is one of the methods, else the first of them. */
function withColor(given: GivenOptions, judge: Method = DEFAULT_GUARD.method): ChatOptions {
  const { methods = [judge], color = methods.includes(judge) ? judge : methods[0]! } = given;
  return { ...given, color };
}

function scoringFor(options: ChatOptions): Scoring | null {
  const { color, method = color, seed = 0, score } = options;
  if (!score) return null;
  const { methods = [...new Set<Method>([...DEFAULT_METHODS, color, method])] } = options;
  if (!methods.includes(color)) throw new UsageError(`--color: ${color} is not among --methods`);
  return scoringOf(options, methods, seed);
}

/** @throws SettingsError */
async function watchOf(
  engine: Engine,
  options: ChatOptions,
  asked: Scoring,
  file: CalibrationFile | null,
): Promise<Watch> {
  const { checkpoint } = engine;
  const scoring = await absoluteScoring(asked, checkpoint.embeddingRms);
  const { color, method = color, json = false } = options;
  const guard = guardOf({ ...guardFieldsOf(options), methods: [...scoring.methods], method }, json);
  checkGuard(guard, scoring);
  const { risks, warnings } = await riskModel(checkpoint, file, scoring, scoring.methods);
  if (guard.action !== 'annotate' && !risks.calibrated(guard.method)) {
    for (const warning of warnings) remark(warning);
  } else if (streams.stderr.isTTY) {
    const hint = await uncalibrated(checkpoint);
    if (hint !== null) remark(`${checkpoint.name} is ${hint}`);
  }
  checkPromise(guard, risks);
  const useless = neverFires(guard, risks);
  if (useless !== null) remark(useless);
  return { scoring, guard, risks };
}

/** One question; Ctrl-C stops its answer and is the command's failure. */
async function askOnce(
  engine: Engine,
  question: string,
  options: ChatOptions,
  watch: Watch | null,
): Promise<void> {
  if (!question) throw new UsageError('the question is empty');
  const interrupted = fromEvent(process, 'SIGINT').pipe(tap(() => (process.exitCode = 130)));
  const system = options.system === undefined ? [] : [{ role: 'system', content: options.system }];
  await answer(engine, [...system, { role: 'user', content: question }], options, watch, interrupted);
}

async function answer(
  engine: Engine,
  messages: readonly ChatMessage[],
  options: ChatOptions,
  watch: Watch | null,
  interrupted: Observable<unknown>,
): Promise<Answered> {
  const { maxTokens, temperature, seed } = options;
  const promptIds = encodePrompt(engine.checkpoint, messages);
  const sampling = { temperature, seed };
  const request: GenerateRequest = { client: 'chat', promptIds, maxTokens, sampling };
  const { tokenizer } = engine.checkpoint;
  const { show, end } = options.json
    ? {
        show: (event: GuardEvent) => say(`${JSON.stringify(eventFields(event, tokenizer))}\n`),
        end: () => {},
      }
    : painter(options.color, watch);
  const answered: Observable<GuardEvent> = watch
    ? guardedGeneration(engine, { ...request, ...watch })
    : generate(engine, request, new FlowGate());
  const texts: string[] = [];
  const remember = (event: GuardEvent): void => {
    if (event.type === 'token.delta') texts[event.index] = event.text;
    if (event.type === 'token.retracted') texts.length = event.from;
  };
  // Of scores that follow the text, a terminal shows none but those that colour it.
  const isAll = options.json || !isProbability(options.color);
  const events = answered.pipe(
    tap(remember),
    tap(show),
    takeWhile(({ type }) => isAll || type !== 'text.done', true),
    takeUntil(interrupted),
  );
  const last = await lastValueFrom(events, { defaultValue: null });
  end();
  return { text: texts.join(''), whole: last?.type === 'text.done' || last?.type === 'generation.done' };
}

/** Plain text if there are no colours; as wide as the terminal, if there is one. */
function painter(method: Method, watch: Watch | null): AnswerPainter {
  const { stdout } = streams;
  const plain: Write = (text, style = (part) => part) => paint(style(text));
  const write = stdout.columns ? wordWrap(paint, () => stdout.columns ?? 0) : plain;
  if (watch === null || chalk.level === 0) return answerPainter(write, watch, null);
  const { guard, risks } = watch;
  const scale = risks.calibrated(method) ? riskScale(method, guard.rate) : scoreScale(method);
  return answerPainter(write, watch, scale);
}
