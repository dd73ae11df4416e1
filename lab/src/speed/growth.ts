import { lastValueFrom, merge, tap } from 'rxjs';
import { interleave, type Sample } from '#src/cost/timing.js';
import type { Engine } from '#src/engine/engine.js';
import { decodeMemory, type MemoryNeed, scoreMemory } from '#src/engine/memory.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { DEFAULT_BLOCK, DEFAULT_SCORING, DEFAULT_WINDOW } from '#src/uncertainty/settings.js';
import { type EnginesMemory, enginesMemory } from './engines-memory.js';
import { DEFAULT_ADVERSARY, endlessRequest, PROMPT_TOKENS, perToken, someIds } from './streams.js';

/** How costs grow: memory with the work done, time with the length of a text and with the number of streams. */

export interface MemoryGrowth {
  readonly streamTokens: number;
  readonly passPositions: number;
  readonly atRest: EnginesMemory;
  readonly afterStream: EnginesMemory;
  readonly afterPass: EnginesMemory;
  readonly predicted: { readonly decode: MemoryNeed; readonly stream: MemoryNeed; readonly pass: MemoryNeed };
}

/** Private memory after one scored stream, and after one pass over a whole text. The engine must be fresh. */
export async function measureMemory(
  engine: Engine,
  streamTokens: number,
  passPositions: number,
  onStep: () => void,
): Promise<MemoryGrowth> {
  await engine.start();
  const atRest = await enginesMemory(engine);
  await lastValueFrom(scoredGeneration(engine, endlessRequest(engine, streamTokens), DEFAULT_SCORING));
  onStep();
  const afterStream = await enginesMemory(engine);
  const offline = { positions: passPositions + 1, window: passPositions, scored: passPositions, replicas: 0 };
  const text = await engine.openSequence(offline);
  const to = passPositions + 1;
  await text.pass({ newIds: someIds(engine, to), start: 0, from: 1, to, adversary: DEFAULT_ADVERSARY });
  text.release();
  onStep();
  const positions = PROMPT_TOKENS + streamTokens;
  const windowed = { positions, window: DEFAULT_WINDOW, scored: DEFAULT_BLOCK, replicas: 0 };
  return {
    streamTokens,
    passPositions,
    atRest,
    afterStream,
    afterPass: await enginesMemory(engine),
    predicted: {
      decode: decodeMemory(engine.machine('decode'), positions),
      stream: scoreMemory(engine.machine('score'), windowed),
      pass: scoreMemory(engine.machine('score'), offline),
    },
  };
}

export interface WindowedCost {
  /** Tokens of the text. */
  readonly length: number;
  /** Milliseconds per token of the last block of it, block and window as by default. */
  readonly sample: Sample;
}

/** Measures the cost of windowed scoring at the end of longer and longer texts, in turn. */
export async function measureWindowed(
  engine: Engine,
  lengths: readonly number[],
  rounds: number,
  onRound: () => void,
): Promise<WindowedCost[]> {
  const texts = await Promise.all(
    lengths.map(async (length) => ({
      length,
      text: await engine.openSequence({ positions: length, window: DEFAULT_WINDOW, scored: DEFAULT_BLOCK }),
      newIds: someIds(engine, length),
    })),
  );
  const variants = Object.fromEntries(
    texts.map((entry) => [
      String(entry.length),
      async () => {
        const { length, text, newIds } = entry;
        const start = Math.max(0, length - 1 - DEFAULT_WINDOW);
        entry.newIds = []; // the first round brings the text, fills the cache and is not counted
        const from = length - DEFAULT_BLOCK;
        await text.pass({ newIds, start, from, to: length, adversary: DEFAULT_ADVERSARY });
      },
    ]),
  );
  try {
    const samples = await interleave(rounds, variants, onRound);
    return lengths.map((length) => ({ length, sample: perToken(samples[String(length)]!, DEFAULT_BLOCK) }));
  } finally {
    for (const { text } of texts) text.release();
  }
}

export interface Concurrency {
  readonly streams: number;
  readonly sample: Sample;
  /** Speed of all streams together. */
  readonly tokensPerSecond: number;
}

/** Several scored streams that start at once, until the last of them has ended. */
export async function measureConcurrency(
  engine: Engine,
  counts: readonly number[],
  tokens: number,
  rounds: number,
  onRound: () => void,
): Promise<Concurrency[]> {
  const run = (streams: number) => async (): Promise<void> => {
    let count = 0;
    const all = Array.from({ length: streams }, () =>
      scoredGeneration(engine, endlessRequest(engine, tokens), DEFAULT_SCORING),
    );
    const scores = merge(...all).pipe(tap(({ type }) => (count += type === 'score.delta' ? 1 : 0)));
    await lastValueFrom(scores);
    if (count !== streams * tokens)
      throw new Error(`bench: ${count} scores for ${streams} × ${tokens} tokens`);
  };
  const variants = Object.fromEntries(counts.map((streams) => [String(streams), run(streams)]));
  const samples = await interleave(rounds, variants, onRound);
  return counts.map((streams) => {
    const sample = samples[String(streams)]!;
    return { streams, sample, tokensPerSecond: (1000 * streams * tokens) / sample.best };
  });
}
