import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { begunOf } from '#src/guard/begun.js';
import {
  DEFAULT_GUARD,
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  type Guard,
  type GuardEvent,
  guardedGeneration,
  PROBABILITY_METHODS,
  type RiskModel,
  type ScoreEvent,
  type Scoring,
  type TokenEvent,
} from '#src/index.js';
import { expectClose } from '../support/close.js';
import { REASONER } from '../support/golden.js';
import { GUESSED_QUESTION, greedy } from '../support/requests.js';

let engine: Engine;
beforeAll(async () => {
  engine = await Engine.open(REASONER);
});
afterAll(() => engine.close());

/** Flags about half of the steps of an answer at temperature 1. */
const risks: RiskModel = {
  calibrated: () => true,
  ofToken: (_method, score) => (score > 0.001 ? 1 : 0),
  ofStep: (_method, _statistic, score) => (score > 0.001 ? 1 : 0),
  ofAnswer: (_method, _statistic, score) => (score > 0.001 ? 1 : 0),
};

interface Case {
  readonly guard: Partial<Guard>;
  readonly scoring?: Scoring;
  readonly temperature?: number;
}

const SEED = 7;

/** An answer that is flagged here and there. */
function answer({ guard, scoring = DEFAULT_SCORING, temperature = 1 }: Case, told?: readonly GuardEvent[]) {
  const settings: Guard = {
    ...DEFAULT_GUARD,
    candidates: 2,
    choose: 'uncertainty',
    // Of later steps, candidates may be the same text: which of equals has the lower score is rounding.
    maxRollbacks: 1,
    ...guard,
  };
  const begun = told && begunOf(told, settings);
  if (begun === null) return null;
  const request = greedy(engine, {
    promptIds: encodePrompt(engine.checkpoint, [{ role: 'user', content: GUESSED_QUESTION }]),
    sampling: { temperature, topK: 0, topP: 1, seed: SEED },
  });
  const events = guardedGeneration(engine, { ...request, scoring, guard: settings, risks, begun });
  return lastValueFrom(events.pipe(toArray()));
}

/** What a client has in the end, that applies retractions and checks the order. */
function read(events: readonly GuardEvent[]) {
  const tokens: TokenEvent[] = [];
  const scores: ScoreEvent[] = [];
  for (const event of events) {
    if (event.type === 'token.delta') {
      expect(event.index).toBe(tokens.length);
      tokens.push(event);
    } else if (event.type === 'score.delta') {
      expect(event.index).toBeLessThan(tokens.length);
      scores[event.index] = event;
    } else if (event.type === 'token.retracted') {
      expect(event.from + event.tokens).toBe(tokens.length);
      tokens.length = event.from;
      scores.length = Math.min(scores.length, event.from);
    }
  }
  const done = events.find((event) => event.type === 'generation.done');
  // How much more was written when the guard stopped is a matter of time.
  const stop = events.find((event) => event.type === 'step.flagged' && event.action === 'stop');
  if (stop?.type === 'step.flagged') {
    tokens.length = Math.min(tokens.length, stop.to);
    scores.length = Math.min(scores.length, stop.to);
  }
  // How long a step was held differs; the rest does not.
  const steps = events.flatMap((event) => (event.type === 'step.done' ? [{ ...event, held: 0 }] : []));
  const interventions = events.filter(({ type }) => type === 'rollback.started' || type === 'rollback.done');
  const spikes = new Set(events.flatMap((event) => (event.type === 'spike.detected' ? [event.index] : [])));
  return {
    tokens: tokens.map(({ id, index, inserted = false }) => ({ id, index, inserted })),
    logprobs: tokens.map(({ logprob }) => logprob),
    scores: scores.map((score) => score.scores),
    ...{ steps, interventions, spikes },
    flagged: events.flatMap((event) => (event.type === 'step.flagged' ? [event.step] : [])),
    done: done && {
      reason: done.finishReason,
      verdict: { ...done.verdict, ...(stop && { unscoredTokens: 0 }) },
    },
  };
}

const CASES: readonly (readonly [string, Case])[] = [
  ['annotated', { guard: { action: 'annotate' } }],
  ['rolled back', { guard: { action: 'rollback' } }],
  ['rolled back to a token', { guard: { action: 'rollback', rollbackTo: 'token' } }],
  ['rolled back, step by step', { guard: { action: 'rollback', delivery: 'held' } }],
  ['reflected upon', { guard: { action: 'reflect' } }],
  ['reflected upon, step by step', { guard: { action: 'reflect', delivery: 'held' } }],
  ['stopped', { guard: { action: 'stop' } }],
  ['stopped, step by step', { guard: { action: 'stop', delivery: 'held' } }],
  [
    'scored by who writes',
    { guard: { action: 'rollback' }, scoring: { ...DEFAULT_SCORING, methods: PROBABILITY_METHODS } },
  ],
  ['greedy', { guard: { action: 'annotate' }, temperature: 0 }],
];

/** Of a token its statistics are not told. */
function asTold(event: GuardEvent): GuardEvent {
  if (event.type !== 'token.delta') return event;
  const { statistics: _, ...told } = event;
  return told;
}

describe('a response that another process has begun', () => {
  it.each(CASES)('ends as it would have there: %s', { timeout: 300_000 }, async (_, asked) => {
    const whole = await answer(asked);
    if (!whole) throw new Error('it was not written');
    const expected = read(whole);
    let wentOn = 0;
    const stride = Math.max(1, Math.floor(whole.length / 20));
    for (let cut = 0; cut < whole.length; cut += stride) {
      const told = whole.slice(0, cut).map(asTold);
      const rest = await answer(asked, told);
      if (!rest) continue;
      wentOn += 1;
      const { tokens, scores } = read(told);
      // What only the writer knew of a token, and had not told yet, is missing.
      const untold = (index: number) => asked.scoring && index < tokens.length && !scores[index];
      const known = (answer: ReturnType<typeof read>) => ({
        ...answer,
        scores: answer.scores.map((values, index) => (untold(index) ? { nll: values.nll } : values)),
      });
      expectClose(known(read([...told, ...rest])), known(expected), `cut ${cut}`);
    }
    expect(wentOn).toBeGreaterThan(0);
  });
});
