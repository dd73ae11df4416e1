import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import {
  Engine,
  EngineError,
  elements,
  fingerprint,
  formatDevices,
  ModelError,
  reportDevices,
  UsageError,
} from 'flinch/internals';
import { defaultDataFolder, suiteFolder } from '../data/folder.js';
import { type EncoderFolders, type OpenEncoders, openEncoders } from '../encoder/encoders.js';
import { CONTROLS } from '../evaluate/case.js';
import { thisMachine } from '../markdown-table.js';
import type { Measure } from '../measures/measure.js';
import { samplesNeeded } from '../measures/measure.js';
import { withSubstitutes } from '../measures/parse-measure.js';
import { type BenchProblem, comesLabelled, type Suite } from '../suites/suite.js';
import { createSuites, suites } from '../suites/suites.js';
import { type ClaimSource, readClaimSource } from './claim-source.js';
import { commandLine } from './command-line.js';
import { evaluateRun } from './evaluate-run.js';
import { lockFolder } from './folder-lock.js';
import { interruptible } from './interrupt.js';
import { judgeSettings, openJudge } from './judging.js';
import { limited } from './problems.js';
import { systemMessage } from './prompt.js';
import type { Run } from './run-context.js';
import { claimRun, makeFolder, openRecords } from './run-folder.js';
import { addRunOptions, DEFAULT_MEASURES, MEASURE_NAMES, measures, type RunOptions } from './run-options.js';
import { type About, digestOf, inShard, type RunSettings, SCORING, WHOLE } from './settings.js';
import { runStages } from './stages/stages.js';
import { printShard, printSummary } from './summary.js';

export function runCommand(): Command {
  const command = new Command('run').description(
    "Run the paper's evaluation: generate, check, locate the first wrong step, score, compare measures.",
  );
  return addRunOptions(command)
    .addHelpText(
      'after',
      `
Measures:
  ${MEASURE_NAMES}
  settings follow a colon: adversarial:block=8,window=64 random:samples=40,sigma=1e-2
  by default ${DEFAULT_MEASURES};
  self_consistency only with --score all, the table it is in; processbench without graph and self_consistency, which draw
  further responses
  ccp, token_sar and graph use a named substitute if their model is not given

All results are written line by line to --out; after an interruption, the same command continues. Sampling depends on
--seed and the problem only. The last digits of the model's probabilities depend on the number of concurrent responses,
which can change a token in rare cases. With --streams 1, they do not.

Examples:
  $ flinch bench run --suite tasks --limit 400 --score all --out /tmp/tasks
  $ flinch bench run --suite processbench --model ./Qwen2.5-7B-Instruct --data ./data --out /tmp/pb
  $ flinch bench run --suite math --model ./Llama-3.1-8B-Instruct --per-subset 50 --out /tmp/math \\
      --judge https://api.example.com/v1 --judge-model large
  $ flinch bench run --suite tasks --limit 4000 --shard 1/2 --out /tmp/shard-1`,
    )
    .action(runBenchmark);
}

async function runBenchmark(options: RunOptions): Promise<void> {
  await interruptible('the same command continues', async (interrupt) => {
    const { model, device, out } = options;
    checkStages(options);
    const threads = availableParallelism();
    // One writes or the other scores, never both at once.
    const engine = await Engine.open(model, {
      device,
      maxStreams: options.streams,
      decodeThreads: threads,
      scoreThreads: threads,
    });
    const closing: (() => Promise<void>)[] = [() => engine.close()];
    try {
      await reportDevices(engine, device, ['decode', 'score']);
      const encoders = await openEncoders(foldersOf(options), { threads, fault: namingOption });
      closing.push(() => encoders.close());
      const prepared = await prepare(engine, encoders, options);
      makeFolder(out);
      const release = await lockFolder(out, (error) => interrupt.abort(error));
      // Last: first nothing is written any more.
      closing.push(release);
      await work(engine, options, prepared, interrupt.signal);
    } finally {
      for (const close of closing) await close();
    }
  });
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

/** What can be told before a model is opened. @throws UsageError */
function checkStages(options: RunOptions): void {
  const { suite, stages, score } = options;
  judgeSettings(options);
  if (
    suites[suite].judged === 'answer' &&
    !stages.includes('locate') &&
    stages.includes('score') &&
    score !== 'all'
  )
    throw new UsageError('--score: must be all if the stage locate is left out');
}

interface Prepared {
  readonly suite: Suite;
  readonly problems: readonly BenchProblem[];
  readonly measures: readonly Measure[];
  readonly encoders: OpenEncoders;
  readonly claims: ClaimSource | null;
  readonly settings: RunSettings;
}

/** Everything that can be wrong is found out before the folder is touched. */
async function prepare(engine: Engine, encoders: OpenEncoders, options: RunOptions): Promise<Prepared> {
  const { seed, limit = null, subsets = null } = options;
  const suite = createSuites(options.suiteSettings)[options.suite];
  const folder = suiteFolder(options.data ?? defaultDataFolder(), suite.name);
  const all = await suite.load({ folder, subsets, seed, count: limit ?? TASKS });
  const problems = limited(all, limit);
  if (problems.length === 0) throw new UsageError('--subsets: matched no problems');
  const claims = readClaimSource(suite, options, problems);
  const chosen = withSubstitutes(askedMeasures(suite, options), encoders);
  const { checkpoint } = engine;
  return {
    suite,
    problems,
    measures: chosen.filter(({ name }) => !CONTROLS.includes(name)),
    encoders,
    claims: claims?.source ?? null,
    settings: {
      scoring: SCORING,
      suite: suite.name,
      suiteSettings: options.suiteSettings,
      subsets,
      limit,
      seed,
      problems: digestOf(problems),
      model: await fingerprint(checkpoint),
      device: options.device === 'cpu' ? 'cpu' : formatDevices(engine),
      system: systemMessage(checkpoint, options.system),
      temperature: options.temperature,
      topP: options.topP,
      maxTokens: options.maxTokens,
      measures: chosen.map(({ name }) => name),
      encoders: encoders.names,
      samples: samplesNeeded(chosen),
      sampleTemperature: options.sampleTemperature,
      steps: options.steps,
      score: options.score,
      perSubset: options.perSubset ?? null,
      check: options.check,
      judge: judgeSettings(options),
      ...(claims && { claims: claims.settings }),
      bootstrap: { resamples: 1000, seed: 1 },
      shard: options.shard ?? WHOLE,
    },
  };
}

/** Problems of suites that make them. */
const TASKS = 1000;

/**
 * Without `--measures` those that make a table. Further responses are drawn for no other, and none to responses that
 * others wrote.
 * @throws UsageError for a measure of final answers where there are none
 */
function askedMeasures({ name, judged }: Suite, options: RunOptions): Measure[] {
  const asked = options.measures ?? options.methods;
  const ofAnswers = ({ kind }: Measure): boolean => kind === 'self_consistency';
  if (!asked) {
    const hasTable = (measure: Measure): boolean =>
      (judged === 'answer' && options.score === 'all') || !ofAnswers(measure);
    return measures(DEFAULT_MEASURES).filter(
      (measure) => hasTable(measure) && !(comesLabelled(name) && 'samples' in measure),
    );
  }
  const odd = judged === 'claims' ? asked.find(ofAnswers) : undefined;
  if (!odd) return asked;
  throw new UsageError(`--measures: ${odd.name} compares final answers, but ${name} has none`);
}

async function work(
  engine: Engine,
  options: RunOptions,
  { suite, problems, measures, encoders, claims, settings: asked }: Prepared,
  signal: AbortSignal,
): Promise<void> {
  const { out, stages, shard, streams, time } = options;
  const settings = claimRun(out, asked, await aboutOf(engine), problems);
  const place = ({ name }: Measure): number => settings.measures.indexOf(name);
  const records = await openRecords(out);
  const judge = openJudge(options, records.judge);
  const run: Run = {
    engine,
    suite,
    problems: inShard(problems, settings.shard),
    settings,
    records,
    measures: measures.toSorted((a, b) => place(a) - place(b)),
    encoders,
    judge: judge?.judge ?? null,
    claims,
    streams,
    timed: time,
    signal,
  };
  await runStages(run, stages);
  signal.throwIfAborted();
  if (judge) process.stderr.write(`${judge.usage()}\n`);
  if (shard && shard.of > 1) {
    printShard(out, shard, options.json ?? false);
  } else if (stages.includes('evaluate')) {
    printSummary(out, await evaluateRun(out, records), options.json ?? false);
  }
}

async function aboutOf({ checkpoint }: Engine): Promise<About> {
  const { name, tensors } = checkpoint;
  const parameters = [...tensors.values()].reduce((sum, { shape }) => sum + elements(shape), 0);
  return {
    model: { name, parameters, embeddingRms: await checkpoint.embeddingRms() },
    command: commandLine('run'),
    machine: thisMachine(),
  };
}
