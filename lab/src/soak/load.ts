import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { count, lastValueFrom, type MonoTypeOperatorFunction, take, takeUntil, tap, timer } from 'rxjs';
import type { Engine } from '#src/engine/engine.js';
import type { GenerationEvent } from '#src/stream/events.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { DEFAULT_SCORING, type Scoring } from '#src/uncertainty/settings.js';

/** Numbers of requests to the engine so far. */
export interface LoadCounts {
  finished: number;
  /** Left before their end, after some tokens or some time. */
  cancelled: number;
  /** Texts scored in one pass. */
  rescored: number;
  tokens: number;
  scores: number;
}

const windowed = (block: number, window: number | 'all'): Scoring => ({
  ...DEFAULT_SCORING,
  schedule: { kind: 'windowed', block, window },
});

/** The default more often than the others. */
const SCORINGS: readonly (Scoring | null)[] = [
  null,
  DEFAULT_SCORING,
  DEFAULT_SCORING,
  windowed(1, 32),
  windowed(4, 'all'),
  { ...DEFAULT_SCORING, schedule: { kind: 'offline' } },
  { ...DEFAULT_SCORING, schedule: { kind: 'lazy', block: 8, window: 64, epsilon: 0.01 } },
  { ...DEFAULT_SCORING, form: 'derivative' },
  { ...DEFAULT_SCORING, methods: ['nll', 'random'], random: { sigma: 1e-3, samples: 5, seed: 1 } },
  { ...DEFAULT_SCORING, methods: ['nll', 'tokur_eu'] },
];

/** The longest wait before a stream is cancelled by time: some are still in their prompt then. */
const CANCEL_WITHIN_MS = 1000;

/**
 * Keeps so many users busy until the signal comes, each with one random request after another: prompts and responses
 * of every length, scored or not, finished or left. The requests follow from the seed; their timing does not.
 * @throws EngineError of the first request that fails
 */
export async function runLoad(
  engine: Engine,
  { users, seed, signal }: { readonly users: number; readonly seed: number; readonly signal: AbortSignal },
  counts: LoadCounts,
): Promise<void> {
  const user = async (number: number): Promise<void> => {
    const random = xoroshiro128plus(seed + number);
    while (!signal.aborted) {
      if (draw(random, 1, 10) === 1) await rescore(engine, random, counts);
      else await stream(engine, random, counts);
    }
  };
  await Promise.all(Array.from({ length: users }, (_, number) => user(number)));
}

const draw = (random: RandomGenerator, low: number, high: number): number => uniformInt(random, low, high);

/** A prompt of 1 to half the context, and how many tokens may follow it. */
function text(engine: Engine, random: RandomGenerator): { promptIds: number[]; room: number } {
  const { contextLength, checkpoint } = engine;
  const length = draw(random, 1, Math.floor(contextLength / 2));
  const promptIds = Array.from({ length }, () => draw(random, 0, checkpoint.config.vocabSize - 1));
  return { promptIds, room: draw(random, 1, contextLength - length) };
}

async function rescore(engine: Engine, random: RandomGenerator, counts: LoadCounts): Promise<void> {
  const { promptIds, room } = text(engine, random);
  const ids = Array.from({ length: room }, () => draw(random, 0, engine.checkpoint.config.vocabSize - 1));
  const scoring = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } } as const;
  counts.scores += (await scoreResponse(engine, promptIds, ids, scoring)).tokens.length;
  counts.rescored += 1;
}

async function stream(engine: Engine, random: RandomGenerator, counts: LoadCounts): Promise<void> {
  const { promptIds, room } = text(engine, random);
  const scoring = SCORINGS[draw(random, 0, SCORINGS.length - 1)] ?? null;
  const sampling = { temperature: 1, topK: 0, topP: 1, seed: draw(random, 0, 2 ** 31 - 1) };
  const request = { promptIds, maxTokens: room, endIds: [], stop: [], topLogprobs: 0, sampling };
  let done = false;
  const events = scoredGeneration(engine, request, scoring).pipe(
    tap(({ type }) => {
      if (type === 'token.delta') counts.tokens += 1;
      else if (type === 'score.delta') counts.scores += 1;
      else done = true;
    }),
    leaving(random, room),
    count(),
  );
  await lastValueFrom(events);
  if (done) counts.finished += 1;
  else counts.cancelled += 1;
}

/** Unsubscribes after some events, or after some time; half of the streams never. */
function leaving(random: RandomGenerator, tokens: number): MonoTypeOperatorFunction<GenerationEvent> {
  const way = draw(random, 1, 4);
  if (way === 1) return take(draw(random, 1, tokens));
  if (way === 2) return takeUntil(timer(draw(random, 0, CANCEL_WITHIN_MS)));
  return (events) => events;
}
