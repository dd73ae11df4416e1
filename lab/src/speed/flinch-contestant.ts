import { lastValueFrom, tap } from 'rxjs';
import { z } from 'zod';
import { Engine } from '#src/engine/engine.js';
import type { GenerateRequest } from '#src/engine/generation.js';
import { scoredGeneration } from '#src/stream/scored-generation.js';
import { PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import { DEFAULT_SCORING, type Scoring } from '#src/uncertainty/settings.js';
import { LAB_ENTRY } from '../lab-entry.js';
import type { AnswerTimes } from './answer-times.js';
import { type Contestant, openProgram, type Work } from './contestant.js';

/** Scores that come with the tokens: those of a guard by default. */
export const SHIPPED_SCORING: Scoring = { ...DEFAULT_SCORING, methods: PROBABILITY_METHODS };

/** What is done with the text as it is written. */
const MODES: ReadonlyMap<string, Scoring | null> = new Map([
  ['no scores', null],
  ['default scores', SHIPPED_SCORING],
  ['Adv. Pert.', DEFAULT_SCORING],
]);

const optionsSchema = z.object({
  /** Checkpoint folder or GGUF file. */
  model: z.string(),
  mode: z.string(),
  contextLength: z.int(),
  temperature: z.number(),
});
type Options = z.output<typeof optionsSchema>;

/** flinch, which writes in int8: alone, with the scores of a guard, and with Adv. Pert. */
export const flinchContestants = (options: Omit<Options, 'mode'>): Contestant[] =>
  [...MODES.keys()].map((mode) => ({
    name: `flinch, ${mode}`,
    open() {
      const args = ['peers-speed', '--contestant', JSON.stringify({ ...options, mode })];
      return openProgram(this.name, LAB_ENTRY, args);
    },
  }));

/** flinch as a contestant, in a process of its own (see {@link openProgram}). */
export async function runFlinchProcess(json: string): Promise<void> {
  const { model, mode, contextLength, temperature } = optionsSchema.parse(JSON.parse(json));
  const engine = await Engine.open(model, { contextLength, precision: 'int8' });
  process.on('message', async ({ prompt, tokens }: Work) => {
    try {
      const request = { ...endlessRequest(prompt, tokens), sampling: greedily(temperature) };
      process.send?.(await write(engine, request, MODES.get(mode) ?? null));
    } catch (error) {
      process.send?.({ error: String(error) });
    }
  });
  process.once('disconnect', () => process.exit()); // its processes end with it
  if (!process.connected) process.exit();
  process.send?.({ ready: true });
}

const greedily = (temperature: number) => ({ temperature, topK: 0, topP: 1, seed: 0 });

/** An answer that nothing ends before its length. */
export const endlessRequest = (promptIds: readonly number[], maxTokens: number): GenerateRequest => ({
  promptIds,
  maxTokens,
  endIds: [],
  stop: [],
  topLogprobs: 0,
  sampling: greedily(0),
});

/** @throws Error if not all of its tokens are scored */
export async function write(
  engine: Engine,
  request: GenerateRequest,
  scoring: Scoring | null,
): Promise<AnswerTimes> {
  const tokens: number[] = [];
  let scored = 0;
  let end = 0;
  const start = performance.now();
  const events = scoredGeneration(engine, request, scoring).pipe(
    tap((event) => {
      if (event.type !== 'token.delta' && event.type !== 'score.delta') return;
      end = performance.now() - start;
      if (event.type === 'token.delta') tokens.push(end);
      else if (!event.pending) scored += 1;
    }),
  );
  await lastValueFrom(events, { defaultValue: null });
  if (scoring && scored !== request.maxTokens)
    throw new Error(`${scored} of ${request.maxTokens} tokens were scored`);
  return { tokens, end };
}
