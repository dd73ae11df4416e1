import { availableParallelism } from 'node:os';
import { Engine, EngineError, ModelError } from 'flinch';
import { fingerprint, formatDevices, note, reportDevices, showsBars, UsageError } from 'flinch/internals';
import { defaultDataFolder, suiteFolder } from '../data/data-folder.js';
import { type EncoderFolders, type OpenEncoders, openEncoders } from '../encoder/encoders.js';
import { countEach } from '../evaluate/count-measures.js';
import type { Measure } from '../measures/measure.js';
import { needsClaimGraph, samplesNeeded } from '../measures/measure.js';
import { withSubstitutes } from '../measures/parse-measure.js';
import { digestOf, type RunSettings, SCORING } from '../records/run-settings.js';
import { ruleOf } from '../records/selection.js';
import { kindsNamed } from '../report/answer-words.js';
import type { Completer } from '../rollouts/completer.js';
import { isCheck, kindRead } from '../suites/own/answer-checks.js';
import { ownSuite } from '../suites/own/own.js';
import { keyOf, type Questions, questionsOf } from '../suites/own/own-problems.js';
import { readRows } from '../suites/own/question-rows.js';
import type { Task } from '../suites/own/task.js';
import { examplesOf } from '../suites/own/worked-examples.js';
import { comesLabelled, type Suite } from '../suites/suite.js';
import { PROMPTS_VERSION } from '../suites/suite-prompts.js';
import { suites } from '../suites/suites.js';
import { readClaimSource } from './claim-source.js';
import { interruptible } from './interrupt.js';
import { judgeSettings } from './judging.js';
import { completingServer, labelSettings, writingServer } from './labels.js';
import { systemMessage } from './problem-prompt.js';
import type { PreparedRun, Run } from './run-context.js';
import { hasRecords, type RunRecords } from './run-folder.js';
import {
  DEFAULT_MEASURES,
  MEASURES_OF_CLAIMS,
  measures,
  OWN_MEASURES,
  type RunOptions,
} from './run-options.js';
import { limited } from './run-problems.js';
import { engineCompleter, engineWriter } from './writer/engine-responses.js';
import { upstreamWriter } from './writer/server-responses.js';
import { upstreamCompleter } from './writer/upstream-completer.js';
import type { Writer } from './writer/writer.js';

export interface Scope {
  readonly interrupt: AbortController;
  /** Done after the models are closed, when nothing is written any more. */
  readonly atEnd: (close: () => Promise<void>) => void;
}

/** Opens what a run needs, and closes it. Everything that can be wrong is found out before a folder is touched. */
export async function withPrepared(
  options: RunOptions,
  hint: string,
  work: (prepared: PreparedRun, scope: Scope) => Promise<void>,
): Promise<void> {
  await interruptible(hint, async (interrupt) => {
    const { model, device } = options;
    checkStages(options);
    const threads = availableParallelism();
    if (showsBars()) note(`opening ${model}\n`);
    // One writes or the other scores, never both at once.
    const engine = await Engine.open(model, { device, maxStreams: options.streams, threads });
    const closing: (() => Promise<void>)[] = [() => engine.close()];
    try {
      await reportDevices(engine, device, ['decode', 'score']);
      const encoders = await openEncoders(foldersOf(options), { threads, fault: namingOption });
      closing.push(() => encoders.close());
      const writer = openWriter(engine, options);
      closing.push(async () => writer.close());
      const prepared = await prepare(engine, encoders, options);
      const completer = openCompleter(prepared, options);
      closing.push(async () => completer?.close());
      await work({ ...prepared, writer, completer }, { interrupt, atEnd: (close) => closing.push(close) });
    } finally {
      for (const close of closing) await close();
    }
  });
}

/** Parts of a run that depend on its folder. */
export interface Opened extends Pick<Run, 'judge' | 'signal'> {
  readonly records: RunRecords;
}

export const runOf = (
  prepared: PreparedRun,
  { streams, time }: RunOptions,
  { records, judge, signal }: Opened,
): Run => ({ ...prepared, rule: ruleOf(prepared.settings), records, judge, streams, timed: time, signal });

const foldersOf = ({ nli, crossEncoder, embedder }: RunOptions): EncoderFolders => ({
  ...(nli !== undefined && { nli }),
  ...(crossEncoder !== undefined && { similarity: crossEncoder }),
  ...(embedder !== undefined && { sentence: embedder }),
});

const ENCODER_OPTIONS = { nli: '--nli', similarity: '--cross-encoder', sentence: '--embedder' } as const;

const namingOption = (use: keyof EncoderFolders, cause: unknown): unknown =>
  cause instanceof ModelError || cause instanceof EngineError
    ? new UsageError(`${ENCODER_OPTIONS[use]}: ${cause.message}`, { cause })
    : cause;

/** Writer of the responses: this engine, or a server. */
function openWriter(engine: Engine, options: RunOptions): Writer {
  const server = writingServer(options);
  return server ? upstreamWriter(engine.checkpoint, server) : engineWriter(engine);
}

/** Goes on with responses, if their first wrong steps are labelled by rollouts. */
function openCompleter(
  { engine, suite, settings: { label, system } }: Omit<PreparedRun, 'writer' | 'completer'>,
  options: RunOptions,
): Completer | null {
  if (label?.by !== 'rollouts') return null;
  const server = completingServer(options);
  return server ? upstreamCompleter(server, suite, system) : engineCompleter({ engine, suite }, system);
}

/** @throws UsageError for options that do not go together */
function writerSettings(options: RunOptions): Pick<RunSettings, 'writer'> {
  const server = writingServer(options);
  return server ? { writer: { by: 'upstream', model: server.model } } : {};
}

/** Checks that need no model. @throws UsageError */
function checkStages(options: RunOptions): void {
  const { suite, stages, score, out } = options;
  labelSettings(options);
  judgeSettings(options);
  writerSettings(options);
  if (
    suites[suite].judged === 'answer' &&
    !stages.includes('locate') &&
    stages.includes('score') &&
    score !== 'all' &&
    !hasRecords(out, 'located')
  )
    throw new UsageError(
      `--score: must be all if the stage locate is left out, because ${out} contains no first wrong steps`,
    );
}

async function prepare(
  engine: Engine,
  encoders: OpenEncoders,
  options: RunOptions,
): Promise<Omit<PreparedRun, 'writer' | 'completer'>> {
  const { seed, limit = null, subsets = null } = options;
  const own = options.task && (await readTaskQuestions(options.task));
  if (own) {
    const labelled = own.problems.every(({ row }) => row?.right != null);
    const how = labelled ? 'their responses are labelled' : `answers are checked by: ${checksNamed(own)}`;
    note(`${own.problems.length} questions of ${own.settings.name}; ${how}\n`);
  }
  const suite = own ? ownSuite(own.settings, own.problems) : suites[options.suite];
  const folder = suiteFolder(options.data ?? defaultDataFolder(), suite.name);
  const all = await suite.load({ folder, subsets, seed, count: limit ?? TASKS });
  const problems = limited(all, limit);
  if (problems.length === 0) throw new UsageError('--subsets: matched no problems');
  if (own) checkLabels(own, options);
  const claims = readClaimSource(suite, options, problems);
  const chosen = withSubstitutes(askedMeasures(suite, options), encoders);
  const { checkpoint } = engine;
  return {
    engine,
    suite,
    problems,
    measures: chosen,
    encoders,
    claims: claims?.source ?? null,
    settings: {
      scoring: SCORING,
      suite: suite.name,
      prompts: PROMPTS_VERSION,
      ...(own && { task: own.settings }),
      subsets,
      limit,
      seed,
      problems: digestOf(problems),
      model: await fingerprint(checkpoint),
      device: options.device === 'cpu' ? 'cpu' : formatDevices(engine),
      ...writerSettings(options),
      system: systemMessage(checkpoint, suite),
      temperature: options.temperature,
      topP: 1,
      maxTokens: options.maxTokens,
      // A model of one's own is wrong where it does not end; the paper leaves these out.
      ...(own && { cutOff: 'wrong' }),
      ...(options.unsure === 'wrong' && { unsure: 'wrong' }),
      measures: chosen.map(({ name }) => name),
      encoders: encoders.names,
      samples: samplesNeeded(chosen),
      sampleTemperature: SAMPLE_TEMPERATURE,
      score: options.score,
      perSubset: options.perSubset ?? null,
      check: options.check,
      judge: judgeSettings(options),
      ...labelSettings(options),
      ...(claims && { claims: claims.settings }),
      bootstrap: { resamples: 1000, seed: 1 },
    },
  };
}

/** @throws UsageError for a file that cannot be read */
async function readTaskQuestions(task: Task): Promise<Questions> {
  const { problems, settings } = questionsOf(await readRows(task.file, '--questions'), task);
  if (task.examples === null) return { problems, settings };
  const examples = examplesOf(await readRows(task.examples, '--examples'), problems);
  return { problems, settings: { ...settings, examples } };
}

/** How many rows are checked how: `number (12), date (3)`. */
function checksNamed({ problems, settings: { check } }: Questions): string {
  const names = problems.map((problem) => {
    const how = problem.row?.check ?? check;
    return (isCheck(how) && kindRead(how, keyOf(problem))) || how;
  });
  return kindsNamed(countEach(names));
}

/** @throws UsageError for options that need what the rows do not have */
function checkLabels({ problems, settings }: Questions, { label, score }: RunOptions): void {
  if (
    label === 'rollouts' &&
    (!isCheck(settings.check) || problems.some(({ row }) => row?.answers.length === 0))
  )
    throw new UsageError('--label: rollouts need answers to all questions, and a rule that checks them');
  const isLabelled = problems.some((problem) => problem.given && problem.given.firstWrong !== null);
  if (score !== 'all' && !label && !isLabelled)
    throw new UsageError(
      '--score: must be all, as no row says which step is wrong (first_wrong) and --label is not set',
    );
}

/** Problems of suites that make them. */
const TASKS = 1000;
/** Of further responses, for graphs and votes. */
const SAMPLE_TEMPERATURE = 0.7;

/**
 * Measures of the run; without `--measures` those that make a table. Further responses are drawn for no
 * other, and none if the responses are given.
 * @throws UsageError for a measure of final answers, or of claims, where there are none
 */
function askedMeasures({ name, judged }: Suite, options: RunOptions): Measure[] {
  const asked = options.measures;
  const ofAnswers = ({ kind }: Measure): boolean => kind === 'self_consistency';
  if (!asked) {
    const hasTable = (measure: Measure): boolean =>
      (judged === 'answer' && options.score === 'all') || !ofAnswers(measure);
    const names =
      name === 'own'
        ? OWN_MEASURES
        : judged === 'claims' && options.judge
          ? MEASURES_OF_CLAIMS
          : DEFAULT_MEASURES;
    return measures(names).filter(
      (measure) => hasTable(measure) && !(comesLabelled(name) && 'samples' in measure),
    );
  }
  const odd = asked.find((measure) =>
    judged === 'claims' ? ofAnswers(measure) : needsClaimGraph([measure]),
  );
  if (!odd) return asked;
  const why = judged === 'claims' ? 'compares final answers' : 'scores claims';
  throw new UsageError(`--measures: ${odd.name} ${why}, but ${name} has none`);
}
