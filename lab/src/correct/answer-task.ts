import { lastValueFrom, tap } from 'rxjs';
import { z } from 'zod';
import { promptOf, stopOf } from '#bench/run/prompt.js';
import type { BenchProblem, Checked, Suite } from '#bench/suites/suite.js';
import type { Engine } from '#src/engine/engine.js';
import type { GenerateRequest } from '#src/engine/generation.js';
import { type GuardedRequest, guardedGeneration } from '#src/guard/guarded-generation.js';
import type { GuardEvent, RollbackDoneEvent, StepEvent } from '#src/stream/events.js';
import { METHODS, type Scores } from '#src/uncertainty/method-names.js';

/** How a problem was answered under a guard. */
export const trialSchema = z.object({
  text: z.string(),
  /** Tokens of the final answer, and of all that were generated for it. */
  tokens: z.int(),
  generated: z.int(),
  right: z.boolean(),
  /** Flagged steps that were left, and rollbacks by their outcome. */
  flagged: z.int(),
  kept: z.int(),
  replaced: z.int(),
});
export type Trial = z.output<typeof trialSchema>;

/** Record of an answer. */
export const observedSchema = trialSchema.extend({
  scores: z.array(z.partialRecord(z.enum(METHODS), z.number())),
  steps: z.array(
    z.object({
      from: z.int(),
      to: z.int(),
      text: z.string(),
      /** Tokens and milliseconds from its first token to its release. */
      held: z.object({ tokens: z.int(), ms: z.number() }).optional(),
    }),
  ),
});
export type Observed = z.output<typeof observedSchema>;

export type Guarding = Pick<GuardedRequest, 'scoring' | 'guard' | 'risks' | 'policy' | 'spikePolicy'>;

export interface Sampled {
  readonly temperature: number;
  readonly seed: number;
}

/** Engine, suite and settings of a run of answers. */
export interface Asking {
  readonly engine: Engine;
  readonly suite: Suite;
  /** Limit of an answer's tokens; less if the context ends before. */
  readonly maxTokens: number;
}

/** @throws RangeError for a suite whose answers only a judge can check */
export function checked(suite: Suite, problem: BenchProblem, text: string): Checked {
  const found = suite.check(problem, text);
  if (found) return found;
  throw new RangeError(`${suite.name}: answers cannot be checked by a program`);
}

/** @throws EngineError */
export async function answerTask(
  asking: Asking,
  problem: BenchProblem,
  sampled: Sampled,
  guarding: Guarding,
): Promise<Observed> {
  const tokens: string[] = [];
  const scores: Scores[] = [];
  const steps: StepEvent[] = [];
  const rollbacks: RollbackDoneEvent[] = [];
  let generated = 0;
  const observe = (event: GuardEvent): void => {
    if (event.type === 'token.delta') tokens[event.index] = event.text;
    else if (event.type === 'score.delta') scores[event.index] = event.scores;
    else if (event.type === 'step.done') steps.push(event);
    else if (event.type === 'rollback.done') rollbacks.push(event);
    else if (event.type === 'token.retracted') tokens.length = scores.length = event.from;
    else if (event.type === 'generation.done') generated = event.usage.generatedTokens ?? tokens.length;
  };
  const request = { ...requestOf(asking, problem, sampled), ...guarding };
  await lastValueFrom(guardedGeneration(asking.engine, request).pipe(tap(observe)));
  const text = tokens.join('');
  const replaced = rollbacks.filter(({ outcome }) => outcome === 'replaced').length;
  return {
    text,
    tokens: tokens.length,
    generated,
    right: checked(asking.suite, problem, text).correct,
    flagged: steps.filter(({ flagged }) => flagged).length,
    kept: rollbacks.length - replaced,
    replaced,
    scores,
    steps: steps.map(({ from, to, text, held }) => ({ from, to, text, ...(held && { held }) })),
  };
}

/** The same question without a guard and without scores. */
export async function sampleTask(
  asking: Asking,
  problem: BenchProblem,
  sampled: Sampled,
): Promise<Pick<Trial, 'text' | 'tokens'>> {
  const generation = await asking.engine.generate(requestOf(asking, problem, sampled));
  let text = '';
  for (;;) {
    const item = await generation.next();
    if (item.type === 'end') return { text, tokens: item.tokens };
    text += item.text;
  }
}

function requestOf(
  { engine, suite, maxTokens }: Asking,
  problem: BenchProblem,
  { temperature, seed }: Sampled,
): GenerateRequest {
  const { checkpoint, contextLength } = engine;
  const promptIds = promptOf(checkpoint, suite, problem, null);
  return {
    promptIds,
    maxTokens: Math.min(maxTokens, contextLength - promptIds.length),
    stop: stopOf(checkpoint, suite),
    sampling: { temperature, seed },
  };
}
