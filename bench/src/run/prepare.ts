import { availableParallelism } from 'node:os';
import { Engine, EngineError, ModelError } from 'flinch';
import { fingerprint, formatDevices, note, reportDevices, showsBars, UsageError } from 'flinch/internals';
import { defaultDataFolder, suiteFolder } from '../data/folder.js';
import { type EncoderFolders, type OpenEncoders, openEncoders } from '../encoder/encoders.js';
import { CONTROLS } from '../evaluate/case.js';
import type { Measure } from '../measures/measure.js';
import { needsClaimGraph, samplesNeeded } from '../measures/measure.js';
import { withSubstitutes } from '../measures/parse-measure.js';
import { ruleOf } from '../records/selection.js';
import { digestOf, inShard, type RunSettings, SCORING, WHOLE } from '../records/settings.js';
import type { Completer } from '../rollouts/completer.js';
import { RULES } from '../suites/own/answer-checks.js';
import { type Questions, questionsOf } from '../suites/own/problems.js';
import { readRows } from '../suites/own/rows.js';
import { type BenchProblem, comesLabelled, type Suite } from '../suites/suite.js';
import { createSuites, suites } from '../suites/suites.js';
import { type ClaimSource, readClaimSource } from './claim-source.js';
import { interruptible } from './interrupt.js';
import { judgeSettings } from './judging.js';
import { completingServer, labelSettings, writingServer } from './labels.js';
import { byGenerators, limited, repeated } from './problems.js';
import { systemMessage } from './prompt.js';
import type { Run } from './run-context.js';
import { hasRecords, type RunRecords } from './run-folder.js';
import {
  DEFAULT_MEASURES,
  MEASURES_OF_CLAIMS,
  measures,
  namedMeasures,
  OWN_MEASURES,
  type RunOptions,
} from './run-options.js';
import { engineCompleter, engineWriter } from './writer/engine-writer.js';
import { fileWriter } from './writer/responses-file.js';
import { upstreamCompleter } from './writer/upstream-completer.js';
import { upstreamWriter } from './writer/upstream-writer.js';
import type { Writer } from './writer/writer.js';

/** A run that could begin: its models are open, its problems read, its options make sense. */
export interface Prepared {
  readonly engine: Engine;
  readonly suite: Suite;
  readonly problems: readonly BenchProblem[];
  readonly measures: readonly Measure[];
  readonly encoders: OpenEncoders;
  readonly writer: Writer;
  readonly completer: Completer | null;
  readonly claims: ClaimSource | null;
  readonly settings: RunSettings;
}

export interface Scope {
  readonly interrupt: AbortController;
  /** Done after the models are closed, when nothing is written any more. */
  readonly atEnd: (close: () => Promise<void>) => void;
}

/** Opens what a run needs, and closes it. Everything that can be wrong is found out before a folder is touched. */
export async function withPrepared(
  options: RunOptions,
  hint: string,
  work: (prepared: Prepared, scope: Scope) => Promise<void>,
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
export interface Opened extends Pick<Run, 'refresh' | 'judge' | 'signal'> {
  readonly records: RunRecords;
}

/** The part of a run that is this shard's, with the measures in the order of the folder's settings. */
export function runOf(
  { engine, suite, problems, measures, encoders, writer, completer, claims }: Prepared,
  settings: RunSettings,
  options: RunOptions,
  { records, refresh, judge, signal }: Opened,
): Run {
  const mine = new Set(inShard(problems, settings.shard).map(({ id }) => id));
  const isMine = ({ id }: Pick<BenchProblem, 'id'>): boolean => mine.has(id);
  const place = ({ name }: Measure): number => settings.measures.indexOf(name);
  return {
    engine,
    suite,
    problems,
    isMine,
    rule: { ...ruleOf(settings), ignored: (id) => !mine.has(id) },
    refresh,
    settings,
    records,
    measures: measures.toSorted((a, b) => place(a) - place(b)),
    encoders,
    writer,
    judge,
    completer,
    claims,
    streams: options.streams,
    timed: options.time,
    signal,
  };
}

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

/** Writer of the responses: this engine, a server, or a file of responses. */
function openWriter(engine: Engine, options: RunOptions): Writer {
  if (options.responses !== undefined) return fileWriter(engine.checkpoint, options.responses);
  const server = writingServer(options);
  return server ? upstreamWriter(engine.checkpoint, server) : engineWriter(engine);
}

/** Goes on with responses, if their first wrong steps are labelled by rollouts. */
function openCompleter(
  { engine, suite, settings: { label, system } }: Omit<Prepared, 'writer' | 'completer'>,
  options: RunOptions,
): Completer | null {
  if (label?.by !== 'rollouts') return null;
  const server = completingServer(options);
  return server ? upstreamCompleter(server, suite, system) : engineCompleter({ engine, suite }, system);
}

/** @throws UsageError for options that do not go together */
function writerSettings(options: RunOptions): Pick<RunSettings, 'writer'> {
  const { upstream, responses } = options;
  if (responses !== undefined && upstream !== undefined)
    throw new UsageError('--responses: cannot be used with --upstream');
  if (responses !== undefined) return { writer: { by: 'file' } };
  const server = writingServer(options);
  return server ? { writer: { by: 'upstream', model: server.model } } : {};
}

/** Checks that need no model. @throws UsageError */
function checkStages(options: RunOptions): void {
  const { suite, stages, score, out, repeat, perSubset } = options;
  if (repeat > 1 && (comesLabelled(suite) || suites[suite].judged === 'claims'))
    throw new UsageError(`--repeat: ${suite} has one response to each question`);
  if (repeat > 1 && (perSubset === undefined || score === 'all'))
    throw new UsageError(
      '--repeat: requires --per-subset, which says when there are enough, and no --score all',
    );
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
      `--score: must be all if the stage locate is left out, because ${out} contains no first wrong steps; shards of that stage are joined by flinch bench merge`,
    );
}

async function prepare(
  engine: Engine,
  encoders: OpenEncoders,
  options: RunOptions,
): Promise<Omit<Prepared, 'writer' | 'completer'>> {
  const { seed, limit = null, subsets = null } = options;
  const own = options.task && questionsOf(await readRows(options.task.file), options.task);
  if (own) {
    const labelled = own.problems.every(({ row }) => row?.right != null);
    const how = labelled ? 'their responses are labelled' : `answers are checked by: ${own.settings.check}`;
    note(`${own.problems.length} questions of ${own.settings.name}; ${how}\n`);
  }
  const suite = createSuites(options.suiteSettings, own)[options.suite];
  const folder = suiteFolder(options.data ?? defaultDataFolder(), suite.name);
  const all = await suite.load({ folder, subsets, seed, count: limit ?? TASKS });
  const questions = limited(byGenerators(all, options.generators), limit);
  const problems = repeated(questions, options.repeat);
  if (problems.length === 0) throw new UsageError('--subsets: matched no problems');
  if (own) checkLabels(own, options);
  const claims = readClaimSource(suite, options, problems);
  const chosen = withSubstitutes(askedMeasures(suite, options), encoders);
  const { checkpoint } = engine;
  return {
    engine,
    suite,
    problems,
    measures: chosen.filter(({ name }) => !CONTROLS.includes(name)),
    encoders,
    claims: claims?.source ?? null,
    settings: {
      scoring: SCORING,
      suite: suite.name,
      suiteSettings: options.suiteSettings,
      ...(own && { task: own.settings }),
      subsets,
      ...(options.generators && { generators: options.generators }),
      limit,
      ...(options.repeat > 1 && { repeat: options.repeat }),
      seed,
      problems: digestOf(problems),
      model: await fingerprint(checkpoint),
      device: options.device === 'cpu' ? 'cpu' : formatDevices(engine),
      ...writerSettings(options),
      system: systemMessage(checkpoint, suite, options.system),
      temperature: options.temperature,
      topP: options.topP,
      maxTokens: options.maxTokens,
      ...(options.cutOff === 'wrong' && { cutOff: options.cutOff }),
      measures: chosen.map(({ name }) => name),
      encoders: encoders.names,
      samples: samplesNeeded(chosen),
      sampleTemperature: options.sampleTemperature,
      steps: options.steps,
      score: options.score,
      perSubset: options.perSubset ?? null,
      check: options.check,
      judge: judgeSettings(options),
      ...labelSettings(options),
      ...(claims && { claims: claims.settings }),
      bootstrap: { resamples: 1000, seed: 1 },
      shard: options.shard ?? WHOLE,
    },
  };
}

/** @throws UsageError for options that need what the rows do not have */
function checkLabels({ problems, settings }: Questions, { label, score, repeat }: RunOptions): void {
  const given = problems.some((problem) => problem.given);
  if (given && repeat > 1) throw new UsageError('--repeat: there is one response to each question');
  if (
    label === 'rollouts' &&
    (!(settings.check in RULES) || problems.some(({ row }) => row?.answers.length === 0))
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

/**
 * Measures of the run; without `--measures` those that make a table. Further responses are drawn for no
 * other, and none if the responses are given.
 * @throws UsageError for a measure of final answers, or of claims, where there are none
 */
function askedMeasures({ name, judged }: Suite, options: RunOptions): Measure[] {
  const asked = namedMeasures(options);
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
