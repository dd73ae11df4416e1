import { EngineError } from 'flinch/internals';
import pRetry from 'p-retry';
import { each } from '../../concurrent-map.js';
import type { BenchProblem } from '../../suites/suite.js';
import { encodeGiven, promptOf } from '../prompt.js';
import type { ResponseRecord } from '../records.js';
import type { Run } from '../run-context.js';
import { seedOf } from '../seeds.js';
import { askedIn } from '../selection.js';

/** A response to each problem that is asked: a new one, or the one that came with it. */
export async function generateResponses(run: Run): Promise<void> {
  const { records, streams, signal } = run;
  const problems = askedIn(run.suite, run.problems, records, run.settings);
  const missing = problems.filter(({ id }) => !records.responses.has(id));
  await each(
    'generate',
    missing,
    async (problem) => {
      records.responses.add(problem.given ? givenResponse(run, problem) : await response(run, problem));
    },
    { concurrency: streams, done: problems.length - missing.length, signal },
  );
}

async function response(run: Run, problem: BenchProblem): Promise<ResponseRecord> {
  const { temperature, seed, maxTokens } = run.settings;
  const { id, subset } = problem;
  const start = performance.now();
  const written = await write(run, problem, { temperature, seed: seedOf(seed, id), maxTokens });
  const seconds = (performance.now() - start) / 1000;
  return { id, subset, ...written, seconds };
}

function givenResponse({ engine, suite, settings }: Run, problem: BenchProblem): ResponseRecord {
  const { checkpoint, contextLength } = engine;
  const { id, subset, given } = problem;
  const promptTokens = promptOf(checkpoint, suite, problem, settings.system).length;
  const encoded = encodeGiven(checkpoint, given!);
  const record = { id, subset, promptTokens, seconds: 0 };
  if (!encoded) return { ...record, tokenIds: [], tokenTexts: [], finish: 'rejected' };
  const { tokenIds, tokenTexts } = encoded;
  const fits = promptTokens + tokenIds.length <= contextLength;
  return { ...record, tokenIds, tokenTexts, finish: fits ? 'given' : 'length' };
}

export interface Writing {
  readonly temperature: number;
  readonly seed: number;
  readonly maxTokens: number;
  /** Write on where the response would end. */
  readonly endless?: boolean;
}

/** What the model writes to a problem, as far as the context goes; nothing where the question alone is too long. */
export async function write(
  { engine, suite, settings }: Pick<Run, 'engine' | 'suite' | 'settings'>,
  problem: BenchProblem,
  { temperature, seed, maxTokens, endless = false }: Writing,
): Promise<Pick<ResponseRecord, 'promptTokens' | 'tokenIds' | 'tokenTexts'> & { finish: 'stop' | 'length' }> {
  const { checkpoint, contextLength } = engine;
  const promptIds = promptOf(checkpoint, suite, problem, settings.system);
  const room = Math.min(maxTokens, contextLength - promptIds.length);
  const written = { promptTokens: promptIds.length, tokenIds: [], tokenTexts: [] };
  if (room < 1) return { ...written, finish: 'length' };
  return whenPossible(async () => {
    const generation = await engine.generate({
      promptIds,
      maxTokens: room,
      endIds: endless ? [] : checkpoint.eosTokenIds,
      stop: [],
      topLogprobs: 0,
      sampling: { temperature, topP: settings.topP, topK: 0, seed },
    });
    const [tokenIds, tokenTexts]: [number[], string[]] = [[], []];
    for (;;) {
      const item = await generation.next();
      if (item.type === 'end') return { ...written, tokenIds, tokenTexts, finish: item.reason };
      tokenIds.push(item.id);
      tokenTexts.push(item.text);
    }
  });
}

/** Where others have the memory it waits for theirs; a process that died is there again soon. */
function whenPossible<T>(work: () => Promise<T>): Promise<T> {
  let crashes = 0;
  return pRetry(work, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 100,
    maxTimeout: 2000,
    shouldRetry: ({ error }) => {
      if (!(error instanceof EngineError)) return false;
      const lost = error.code === 'crashed' || error.code === 'stalled';
      if (lost) crashes += 1;
      return error.code === 'overloaded' || (lost && crashes <= MAX_CRASHES);
    },
  });
}

/** What ends the process each time will do so again. */
const MAX_CRASHES = 3;
