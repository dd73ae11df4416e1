import { lastValueFrom, tap } from 'rxjs';
import { z } from 'zod';
import { Engine } from '#src/engine/engine.js';
import { PRECISIONS } from '#src/engine/precision.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import {
  DEFAULT_BLOCK,
  DEFAULT_EPSILON,
  DEFAULT_SCORING,
  DEFAULT_WINDOW,
  type Scoring,
} from '#src/uncertainty/settings.js';
import type { AnswerTimes } from './answer-times.js';
import type { Work } from './contestant.js';
import { SHIPPED_SCORING } from './streams.js';

/** What is done with the text; `offline` scores one that is there. */
export const FLINCH_MODES = [
  'no scores',
  'default scores',
  'Adv. Pert.',
  'lazy Adv. Pert.',
  'lazy Adv. Pert., blocks of 64',
  'offline',
] as const;
export type FlinchMode = (typeof FLINCH_MODES)[number];

const optionsSchema = z.object({
  /** Checkpoint folder or GGUF file. */
  model: z.string(),
  mode: z.enum(FLINCH_MODES),
  contextLength: z.int(),
  precision: z.enum(PRECISIONS),
  temperature: z.number(),
});
export type FlinchProcessOptions = z.output<typeof optionsSchema>;

const SCORING: Readonly<Record<Exclude<FlinchMode, 'offline'>, Scoring | null>> = {
  'no scores': null,
  'default scores': SHIPPED_SCORING,
  'Adv. Pert.': DEFAULT_SCORING,
  'lazy Adv. Pert.': lazy(DEFAULT_BLOCK, DEFAULT_WINDOW),
  'lazy Adv. Pert., blocks of 64': lazy(64, 80),
};
function lazy(block: number, window: number): Scoring {
  return { ...DEFAULT_SCORING, schedule: { kind: 'lazy', block, window, epsilon: DEFAULT_EPSILON } };
}

const OFFLINE_SCORING: Scoring = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } };

/**
 * flinch as a contestant, in a process of its own: a message is {@link Work}, and is answered by `{ answers }`, the
 * {@link AnswerTimes} of each prompt, or by `{ error }`. The first message says that the model is open.
 */
export async function runFlinchProcess(json: string): Promise<void> {
  const { model, mode, contextLength, precision, temperature } = optionsSchema.parse(JSON.parse(json));
  const engine = await Engine.open(model, { contextLength, precision });
  const answer = (promptIds: readonly number[], tokens: number): Promise<AnswerTimes> =>
    mode === 'offline'
      ? scoreText(engine, promptIds, tokens)
      : write(engine, promptIds, { tokens, temperature, scoring: SCORING[mode] });
  process.on('message', async ({ prompts, tokens }: Work) => {
    try {
      process.send?.({ answers: await Promise.all(prompts.map((ids) => answer(ids, tokens))) });
    } catch (error) {
      process.send?.({ error: String(error) });
    }
  });
  process.once('disconnect', () => process.exit()); // its processes end with it
  if (!process.connected) process.exit();
  process.send?.({ ready: true });
}

interface Writing {
  readonly tokens: number;
  readonly temperature: number;
  readonly scoring: Scoring | null;
}

async function write(
  engine: Engine,
  promptIds: readonly number[],
  { tokens, temperature, scoring }: Writing,
): Promise<AnswerTimes> {
  const request = {
    promptIds,
    maxTokens: tokens,
    endIds: [],
    stop: [],
    topLogprobs: 0,
    sampling: { temperature, topK: 0, topP: 1, seed: 0 },
  };
  const times: number[] = [];
  let scored = 0;
  let end = 0;
  const start = performance.now();
  const events = scoredGeneration(engine, request, scoring).pipe(
    tap(({ type }) => {
      if (type !== 'token.delta' && type !== 'score.delta') return;
      end = performance.now() - start;
      if (type === 'token.delta') times.push(end);
      else scored += 1;
    }),
  );
  await lastValueFrom(events, { defaultValue: null });
  if (scoring && scored !== tokens) throw new Error(`${scored} of ${tokens} tokens were scored`);
  return { tokens: times, end };
}

async function scoreText(engine: Engine, prompt: readonly number[], count: number): Promise<AnswerTimes> {
  const start = performance.now();
  const { tokens } = await scoreResponse(engine, prompt, givenText(prompt, count), OFFLINE_SCORING);
  const end = performance.now() - start;
  return { tokens: tokens.map(() => end), end };
}

/** A text that is scored after a prompt. */
export const givenText = (ids: readonly number[], tokens: number): number[] =>
  Array.from({ length: tokens }, (_, i) => ids[i % ids.length]! + 1);
