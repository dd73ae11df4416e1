import { lastValueFrom, tap } from 'rxjs';
import { interleave, type Sample } from '#src/cost/timing.js';
import type { Engine } from '#src/engine/engine.js';
import type { GenerateRequest } from '#src/engine/generation.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import type { Schedule } from '#src/uncertainty/schedule.js';
import { DEFAULT_BLOCK, DEFAULT_SCORING, DEFAULT_WINDOW, type Scoring } from '#src/uncertainty/settings.js';

export interface StreamSpeed {
  readonly name: string;
  readonly sample: Sample;
  readonly tokensPerSecond: number;
  /** Speed as a share of decoding alone, in the same rounds. */
  readonly share: number;
}

export const PROMPT_TOKENS = 32;

export const DEFAULT_ADVERSARY = { alpha: DEFAULT_SCORING.alpha, form: 'perturb' } as const;

/** Default scoring of a guard: scores that come with the tokens. */
export const SHIPPED_SCORING: Scoring = { ...DEFAULT_SCORING, methods: PROBABILITY_METHODS };

/** A text whose tokens do not matter: speed does not depend on them. */
export const someIds = (engine: Engine, count: number): number[] =>
  Array.from({ length: count }, (_, i) => (i * 7919) % engine.checkpoint.config.vocabSize);

export function endlessRequest(engine: Engine, tokens: number): GenerateRequest {
  return {
    promptIds: someIds(engine, PROMPT_TOKENS),
    maxTokens: tokens,
    endIds: [],
    stop: [],
    topLogprobs: 0,
    sampling: { temperature: 0, topK: 0, topP: 1, seed: 0 },
  };
}

/** Tokens per second from first to last, alone and scored under several schedules. */
export async function measureStreams(engine: Engine, tokens: number, rounds: number): Promise<StreamSpeed[]> {
  const schedules: Record<string, Schedule | null> = {
    'decode alone': null,
    [`scored, block ${DEFAULT_BLOCK}, window ${DEFAULT_WINDOW} (the default)`]: DEFAULT_SCORING.schedule,
    'scored, block 8, window all': { kind: 'windowed', block: 8, window: 'all' },
    'scored, block 1, window 64': { kind: 'windowed', block: 1, window: 64 },
  };
  const run = (schedule: Schedule | null) => async (): Promise<void> => {
    const scoring: Scoring | null = schedule && { ...DEFAULT_SCORING, schedule };
    let count = 0;
    const events = scoredGeneration(engine, endlessRequest(engine, tokens), scoring).pipe(
      tap(({ type }) => {
        if (type === 'token.delta') count += 1;
      }),
    );
    await lastValueFrom(events);
    if (count !== tokens) throw new Error(`bench: ${count} tokens instead of ${tokens}`);
  };
  const variants = Object.fromEntries(
    Object.entries(schedules).map(([name, schedule]) => [name, run(schedule)]),
  );
  const samples = await interleave(rounds, variants);
  const alone = samples['decode alone']!.median;
  return Object.entries(samples).map(([name, sample]) => ({
    name,
    sample,
    tokensPerSecond: (1000 * tokens) / sample.median,
    share: alone / sample.median,
  }));
}

export interface LengthCost {
  readonly length: number;
  /** Milliseconds per token of one block of 8, when the response has this length. */
  readonly window64: Sample;
  readonly windowAll: Sample;
  /** Milliseconds per token of the one pass over the finished response. */
  readonly offline: Sample;
}

const BLOCK = 8;

/**
 * Measures the cost of scoring a token as the response grows: its last block under two windows, and the text
 * in one pass.
 */
export async function measureLengths(
  engine: Engine,
  lengths: readonly number[],
  rounds: number,
  onProgress: () => void,
): Promise<LengthCost[]> {
  const costs: LengthCost[] = [];
  for (const length of lengths) {
    const text = await engine.openSequence();
    const to = PROMPT_TOKENS + length;
    // The first pass brings the text and fills the cache; it belongs to the round that is not counted.
    let newIds = someIds(engine, to);
    const pass = (start: number, from: number) => async () => {
      await text.pass({
        newIds,
        start,
        from,
        to,
        adversary: DEFAULT_ADVERSARY,
      });
      newIds = [];
    };
    try {
      const times = await interleave(rounds, {
        window64: pass(to - 1 - 64, to - BLOCK),
        windowAll: pass(0, to - BLOCK),
        offline: pass(0, PROMPT_TOKENS),
      });
      costs.push({
        length,
        window64: perToken(times.window64, BLOCK),
        windowAll: perToken(times.windowAll, BLOCK),
        offline: perToken(times.offline, length),
      });
    } finally {
      text.release();
    }
    onProgress();
  }
  return costs;
}

export function perToken({ median, p10, p90, best, runs }: Sample, tokens: number): Sample {
  return { median: median / tokens, p10: p10 / tokens, p90: p90 / tokens, best: best / tokens, runs };
}
