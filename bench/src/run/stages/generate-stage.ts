import { each } from '../../concurrent-map.js';
import type { ResponseRecord } from '../../records/records.js';
import { askedIn } from '../../records/selection.js';
import type { BenchProblem } from '../../suites/suite.js';
import { encodeGiven, messagesOf, promptOf, stopOf } from '../problem-prompt.js';
import type { Run } from '../run-context.js';
import { seedOf } from '../seeds.js';
import type { Question, Written } from '../writer/writer.js';

/** A response to each problem that is asked: a new one, or the one that came with it. */
export async function generateResponses(run: Run): Promise<void> {
  const { suite, problems, records, rule, streams, signal } = run;
  const missing = askedIn(suite, problems, records, rule).filter(({ id }) => !records.responses.has(id));
  await each(
    'generate',
    missing,
    async (problem) => {
      records.responses.add(problem.given ? givenResponse(run, problem) : await response(run, problem));
    },
    { concurrency: streams, done: records.responses.size, signal },
  );
}

async function response(run: Run, problem: BenchProblem): Promise<ResponseRecord> {
  const { temperature, maxTokens, cutOff } = run.settings;
  const { id, subset } = problem;
  const start = performance.now();
  const written = await write(run, problem, { temperature, sample: 0, maxTokens });
  const seconds = (performance.now() - start) / 1000;
  const { logprobs, ...rest } = written;
  const { promptTokens, tokenIds, finish } = rest;
  // A question that leaves no room was not asked.
  const fits = tokenIds.length > 0 && promptTokens + tokenIds.length <= run.engine.contextLength;
  const isWrong = finish === 'length' && fits && cutOff === 'wrong';
  return {
    id,
    subset,
    ...rest,
    // The engine's own are those that it scores.
    ...(logprobs && run.writer.kind !== 'engine' && { logprobs }),
    ...(isWrong && { cutOffWrong: true }),
    seconds,
  };
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

export type Writing = Pick<Question, 'temperature' | 'sample' | 'maxTokens'>;

/** Question for the writer, as far as the context goes; `null` if the question alone is too long. */
export function questionOf(
  { engine, suite, settings }: Pick<Run, 'engine' | 'suite' | 'settings'>,
  problem: BenchProblem,
  { temperature, sample, maxTokens }: Writing,
): Question | null {
  const { checkpoint, contextLength } = engine;
  const { id } = problem;
  const messages = messagesOf(suite, problem, settings.system);
  const promptIds = promptOf(checkpoint, suite, problem, settings.system);
  const room = Math.min(maxTokens, contextLength - promptIds.length);
  if (room < 1) return null;
  const { topP, seed } = settings;
  return {
    id,
    sample,
    messages,
    promptIds,
    temperature,
    topP,
    maxTokens: room,
    seed: seedOf(seed, id, sample),
    stop: stopOf(checkpoint, suite),
  };
}

/** Response of the writer to a problem. */
export async function write(
  run: Pick<Run, 'engine' | 'suite' | 'settings' | 'writer' | 'signal'>,
  problem: BenchProblem,
  writing: Writing,
): Promise<Written & Pick<ResponseRecord, 'promptTokens'>> {
  const question = questionOf(run, problem, writing);
  if (!question) {
    const { length } = promptOf(run.engine.checkpoint, run.suite, problem, run.settings.system);
    return { promptTokens: length, tokenIds: [], tokenTexts: [], finish: 'length' };
  }
  const written = await run.writer.write(question, run.signal);
  const promptTokens = question.promptIds.length;
  const fits = promptTokens + written.tokenIds.length <= run.engine.contextLength;
  return { promptTokens, ...written, ...(!fits && { finish: 'length' as const }) };
}
