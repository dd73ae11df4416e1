import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readJsonFile } from 'flinch/internals';
import { z } from 'zod';
import { thisMachine } from '../../markdown-table.js';
import { samplesNeeded } from '../../measures/measure.js';
import { scoreMeasures } from '../../measures/score-measures.js';
import { digestOf } from '../../records/settings.js';
import { writeWhole } from '../../result-log.js';
import type { BenchProblem } from '../../suites/suite.js';
import { encodeGiven, promptOf } from '../prompt.js';
import type { Run } from '../run-context.js';
import { makeFolder } from '../run-folder.js';
import { write } from '../stages/generate.js';
import type { Writer } from '../writer/writer.js';

/** How long the work of a run takes, as far as a few seconds can tell. */
export interface Speed {
  /** Lengths of the prompt and the response of a problem. */
  readonly promptTokens: number;
  readonly responseTokens: number;
  /** Whether the length of responses is known: from those that are there, or that ended. */
  readonly lengthKnown: boolean;
  /** Written in a second by all streams together; `null` where nothing is written. */
  readonly written: number | null;
  /** Seconds for one response by all measures, one after the other; `null` where nothing is scored. */
  readonly score: number | null;
}

/** Tokens of a response that is written to measure the speed, and to see whether responses are short. */
const WRITTEN = 128;
const SCORED = 64;
/** Responses that are written at once to measure the speed: a server has more in flight. */
const STREAMS: Readonly<Record<Writer['kind'], number>> = { engine: 8, upstream: 32, file: 0 };
/** Number of given responses whose length is measured. */
const GIVEN = 8;

const ratesSchema = z.object({
  /** All that they depend on. */
  key: z.string(),
  writing: z.object({ tokensPerSecond: z.number(), length: z.int().nullable() }).nullable(),
  /** Seconds for each position of a prompt and its response. */
  scoring: z.number().nullable(),
});
type Rates = z.output<typeof ratesSchema>;

/** Rates that were measured, in a run's folder. */
const RATES = 'speed.json';

export interface Measuring {
  readonly writes: boolean;
  readonly scores: boolean;
  /** Where the rates are kept, so that they are measured once. */
  readonly folder: string;
}

/**
 * Writes the beginnings of a few responses and scores one, and throws them away.
 * @param asked problems to which responses are going to be written
 * @param measuring `null` to measure nothing
 */
export async function measureSpeed(
  run: Run,
  asked: readonly BenchProblem[],
  measuring: Measuring | null,
): Promise<Speed> {
  const first = (asked[0] ?? run.problems[0])!;
  const promptTokens = promptOf(run.engine.checkpoint, run.suite, first, run.settings.system).length;
  const rates = measuring ? await ratesOf(run, asked, first, measuring) : null;
  const known = knownLength(run, asked) ?? rates?.writing?.length ?? null;
  const room = Math.max(1, Math.min(run.settings.maxTokens, run.engine.contextLength - promptTokens));
  const responseTokens = known ?? Math.ceil(room / 2);
  return {
    promptTokens,
    responseTokens,
    lengthKnown: known !== null,
    written: rates?.writing?.tokensPerSecond ?? null,
    score: rates?.scoring == null ? null : rates.scoring * (promptTokens + responseTokens),
  };
}

async function ratesOf(
  run: Run,
  asked: readonly BenchProblem[],
  first: BenchProblem,
  { writes, scores, folder }: Measuring,
): Promise<Omit<Rates, 'key'>> {
  const { model, device, writer, measures, encoders, maxTokens } = run.settings;
  const machine = thisMachine();
  const key = digestOf({
    machine,
    model,
    device,
    writer,
    measures,
    encoders,
    maxTokens,
    streams: run.streams,
  });
  const file = join(folder, RATES);
  const there = existsSync(file) ? readJsonFile(file, ratesSchema) : null;
  const known = there?.key === key ? there : null;
  const streams = Math.min(STREAMS[run.writer.kind], run.streams);
  const writing = known?.writing ?? (writes ? await measureWriting(run, spread(asked, streams)) : null);
  const scoring =
    known?.scoring ?? (scores ? await measureScoring(run, first, writing?.length ?? SCORED) : null);
  const rates = { key, writing, scoring };
  if (!isDeepStrictEqual(rates, known)) {
    makeFolder(folder);
    writeWhole(file, `${JSON.stringify(rates)}\n`);
  }
  return { writing: writes ? writing : null, scoring: scores ? scoring : null };
}

/** `count` items, from the whole list. */
const spread = <T>(items: readonly T[], count: number): T[] =>
  items.filter((_, i) => i % Math.ceil(items.length / count) === 0);

async function measureWriting(run: Run, problems: readonly BenchProblem[]) {
  const { temperature, maxTokens } = run.settings;
  const writeAll = (tokens: number) =>
    Promise.all(
      problems.map((problem) =>
        write(run, problem, { temperature, sample: 0, maxTokens: Math.min(tokens, maxTokens) }),
      ),
    );
  await writeAll(1); // sessions open on first use
  const start = performance.now();
  const written = await writeAll(WRITTEN);
  const seconds = (performance.now() - start) / 1000;
  const tokens = written.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const ended = written.filter(({ finish }) => finish === 'stop');
  return {
    tokensPerSecond: Math.max(1, tokens) / seconds,
    // If most responses have ended, the others are about to.
    length: 2 * ended.length > written.length ? Math.ceil(tokens / written.length) : null,
  };
}

/** Mean tokens of the responses that are there, or come with the problems. */
function knownLength({ records, engine }: Run, asked: readonly BenchProblem[]): number | null {
  const lengths = [...records.responses.values()].map(({ tokenIds }) => tokenIds.length);
  if (lengths.length === 0) {
    const given = asked.flatMap((problem) => problem.given ?? []);
    for (const one of spread(given, GIVEN))
      lengths.push(encodeGiven(engine.checkpoint, one)?.tokenIds.length ?? 0);
  }
  const sum = lengths.reduce((a, b) => a + b, 0);
  return sum > 0 ? Math.ceil(sum / lengths.length) : null;
}

/**
 * Scores a text of the first tokens of the prompt: which they are makes no difference. The time goes by positions.
 * @returns seconds for each of them
 */
async function measureScoring(run: Run, problem: BenchProblem, responseTokens: number): Promise<number> {
  const { engine, suite, settings, encoders } = run;
  // Graphs of claims are what a judge makes: the rest of that measure takes no time.
  const measures = run.measures.filter(({ kind }) => kind !== 'claim_graph');
  const { checkpoint } = engine;
  const promptIds = promptOf(checkpoint, suite, problem, settings.system);
  const scored = async (tokens: number): Promise<number> => {
    const tokenIds = Array.from({ length: tokens }, (_, i) => promptIds[i % promptIds.length]!);
    const tokenTexts = tokenIds.map((_, i) => (i % 16 === 15 ? '.\n' : ' x'));
    const sample = { text: tokenTexts.join(''), agrees: false, seconds: 0 };
    const start = performance.now();
    await scoreMeasures(
      engine,
      {
        promptIds,
        question: problem.question,
        tokenIds,
        tokenTexts,
        stepMode: 'paragraph',
        steps: [[0, tokens]],
        samples: Array.from({ length: samplesNeeded(measures) }, () => sample),
      },
      measures,
      encoders,
    );
    return (performance.now() - start) / 1000;
  };
  const room = engine.contextLength - promptIds.length;
  const tokens = Math.max(1, Math.min(SCORED, responseTokens, room));
  await scored(1); // sessions open on first use
  return (await scored(tokens)) / (promptIds.length + tokens);
}
