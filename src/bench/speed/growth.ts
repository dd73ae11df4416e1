import { lastValueFrom, merge, tap } from 'rxjs';
import type { Engine } from '../../engine/engine.js';
import { type MemoryNeed, predictMemory } from '../../model/memory.js';
import { scoredGeneration } from '../../stream/scored-generation.js';
import { DEFAULT_BLOCK, DEFAULT_SCORING, DEFAULT_WINDOW } from '../../uncertainty/settings.js';
import { type EnginesMemory, enginesMemory } from './engines-memory.js';
import { interleave, type Sample } from './measure.js';
import { endlessRequest, PROMPT_TOKENS, perToken, someIds } from './streams.js';

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
  const text = await engine.openText();
  const to = passPositions + 1;
  await text.pass({ newIds: someIds(engine, to), start: 0, from: 1, to, alpha: DEFAULT_SCORING.alpha });
  text.release();
  onStep();
  const predict = (length: number) =>
    predictMemory(engine.checkpoint.config, { length, window: DEFAULT_WINDOW, block: DEFAULT_BLOCK });
  const stream = predict(PROMPT_TOKENS + streamTokens);
  return {
    streamTokens,
    passPositions,
    atRest,
    afterStream,
    afterPass: await enginesMemory(engine),
    predicted: { decode: stream.decode, stream: stream.windowed, pass: predict(passPositions).offline },
  };
}

export interface WindowedCost {
  /** Tokens of the text. */
  readonly length: number;
  /** Milliseconds per token of a block of 8 at the end of it, window 64. */
  readonly sample: Sample;
}

/** What windowed scoring costs at the end of longer and longer texts, in turn. */
export async function measureWindowed(
  engine: Engine,
  lengths: readonly number[],
  rounds: number,
  onRound: () => void,
): Promise<WindowedCost[]> {
  const texts = await Promise.all(
    lengths.map(async (length) => ({
      length,
      text: await engine.openText(),
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
        const { alpha } = DEFAULT_SCORING;
        await text.pass({ newIds, start, from: length - DEFAULT_BLOCK, to: length, alpha });
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
  /** Of all streams together. */
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
