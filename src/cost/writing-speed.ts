import { bufferCount, filter, lastValueFrom, map, takeWhile, tap } from 'rxjs';
import type { Engine } from '../engine/engine.js';
import type { GenerateRequest } from '../engine/generation.js';
import { scoredGeneration } from '../stream/scored-generation.js';
import { PROBABILITY_METHODS } from '../uncertainty/method-names.js';
import { DEFAULT_BLOCK, DEFAULT_SCORING, DEFAULT_WINDOW, type Scoring } from '../uncertainty/settings.js';

/** Tokens in a second of one response, alone on the machine. */
export interface WritingSpeed {
  /** Written, with the scores that take no pass. */
  readonly written: number;
  /** Scored by Adv. Pert., once they are written; `null` where the model is too slow to wait for passes, or its context too short for two. */
  readonly adversarial: number | null;
}

/** The first pass runs over all of it. */
const PROMPT_TOKENS = DEFAULT_WINDOW - DEFAULT_BLOCK;
const MAX_TOKENS = 256;
/** Passes have what writing leaves of the cores: the text is over soon. */
const PASSED_TOKENS = 2 * DEFAULT_BLOCK;

/** Each of the two is measured for so long, and for as many tokens as it takes to score some. */
const LEAST_MS = 250;
const LEAST_TOKENS = 4;

/** A pass takes as long as up to 60 tokens (docs/results/speed-and-memory.md), and two are run: at this speed 15 seconds. */
const LEAST_SPEED = 8;

/**
 * Writes some tokens, and scores some: half a second on a small model.
 * @throws EngineError
 */
export async function measureWriting(engine: Engine): Promise<WritingSpeed> {
  const written = await speedOf(engine, { ...DEFAULT_SCORING, methods: PROBABILITY_METHODS }, 1);
  const isShort = engine.contextLength < PROMPT_TOKENS + PASSED_TOKENS;
  if (written < LEAST_SPEED || isShort) return { written, adversarial: null };
  return { written, adversarial: await speedOf(engine, DEFAULT_SCORING, DEFAULT_BLOCK, PASSED_TOKENS) };
}

/**
 * From the first scores on: they wait for the prompt, and the first pass for its memory.
 * @param block tokens whose scores come at once
 */
async function speedOf(
  engine: Engine,
  scoring: Scoring,
  block: number,
  maxTokens = MAX_TOKENS,
): Promise<number> {
  const scores = scoredGeneration(engine, endlessRequest(engine, maxTokens), scoring).pipe(
    filter((event) => event.type === 'score.delta' && !event.pending),
    bufferCount(block),
    map((_, blocks) => ({ tokens: block * blocks, at: performance.now() })),
  );
  let start = 0;
  const measured = scores.pipe(
    tap(({ tokens, at }) => {
      if (tokens === 0) start = at;
    }),
    takeWhile(({ tokens, at }) => tokens < LEAST_TOKENS || at - start < LEAST_MS, true),
  );
  const { tokens, at } = await lastValueFrom(measured);
  return (1000 * tokens) / (at - start);
}

/** A text whose tokens do not matter: speed does not depend on them. */
function endlessRequest({ checkpoint, contextLength }: Engine, maxTokens: number): GenerateRequest {
  const promptIds = Array.from({ length: PROMPT_TOKENS }, (_, i) => (i * 7919) % checkpoint.config.vocabSize);
  return {
    promptIds,
    maxTokens: Math.min(maxTokens, contextLength - PROMPT_TOKENS),
    endIds: [],
    sampling: { temperature: 0 },
  };
}
