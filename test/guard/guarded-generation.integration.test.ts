import { setTimeout } from 'node:timers/promises';
import { lastValueFrom, take, tap, toArray } from 'rxjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_GUARD,
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  FlowGate,
  type Guard,
  type GuardEvent,
  guardedGeneration,
  lowestUncertainty,
  METHODS,
  type Method,
  modelId,
  PROBABILITY_METHODS,
  policyOf,
  type RiskModel,
  type ScoreEvent,
  type Scoring,
  SequenceScorer,
  StepAligner,
  segmentText,
  type TokenEvent,
} from '#src/index.js';
import { REASONER } from '../support/golden.js';
import { kill } from '../support/process.js';
import { endless, greedy } from '../support/requests.js';
import { sharedReasoner } from '../support/shared-engines.js';

let engine: Engine;
beforeAll(async () => {
  engine = await sharedReasoner();
});

/** Flags two or three of the three or four steps of an answer at temperature 1. */
const rank = (method: Method, score: number): number =>
  score > (method === 'adversarial' ? 0.0001 : 0.001) ? 1 : 0;
const risks: RiskModel = { calibrated: () => true, ofToken: rank, ofStep: rank, ofAnswer: rank };

/** What whoever writes tells. */
const PROBABILITIES: Scoring = { ...DEFAULT_SCORING, methods: PROBABILITY_METHODS };

const QUESTION = 'What is 12 + 30 - 5? Explain each step.';

/** A guarded answer at temperature 1, with rollbacks unless the guard says otherwise. */
function guardedAnswer(
  seed: number,
  guard: Partial<Guard> = {},
  scoring: Scoring = DEFAULT_SCORING,
  gate = new FlowGate(),
) {
  const request = greedy(engine, {
    promptIds: encodePrompt(engine.checkpoint, [{ role: 'user', content: QUESTION }]),
    sampling: { temperature: 1, topK: 0, topP: 1, seed },
  });
  const settings: Guard = {
    ...DEFAULT_GUARD,
    method: 'nll',
    action: 'rollback',
    candidates: 2,
    ...guard,
  };
  // The least uncertain of the candidates is seldom the original one.
  const policy = policyOf(settings, lowestUncertainty);
  const options = { ...request, scoring, guard: settings, risks, policy };
  return guardedGeneration(engine, options, gate);
}

const collect = (...asked: Parameters<typeof guardedAnswer>): Promise<GuardEvent[]> =>
  lastValueFrom(guardedAnswer(...asked).pipe(toArray()));

/** What a client ends with that applies retractions, checking the order on the way. */
function follow(events: readonly GuardEvent[]) {
  const tokens: TokenEvent[] = [];
  const scores: ScoreEvent[] = [];
  let settled = 0;
  let step = 0;
  for (const event of events) {
    if (event.type === 'token.delta') {
      expect(event.index).toBe(tokens.length);
      tokens.push(event);
    } else if (event.type === 'score.delta') {
      expect(event.index).toBeLessThan(tokens.length);
      scores[event.index] = event;
    } else if (event.type === 'token.retracted') {
      expect(event.from).toBeGreaterThanOrEqual(settled);
      expect(event.from + event.tokens).toBe(tokens.length);
      tokens.length = event.from;
      scores.length = Math.min(scores.length, event.from);
    } else if (event.type === 'step.done') {
      expect(event).toMatchObject({ step, from: settled });
      expect(scores.slice(event.from, event.to).filter(Boolean)).toHaveLength(event.to - event.from);
      settled = event.to;
      step += 1;
    }
  }
  return { tokens, scores, text: tokens.map(({ text }) => text).join('') };
}

const typesOf = (events: readonly GuardEvent[]) => new Set(events.map(({ type }) => type));

async function idle(): Promise<void> {
  for (let i = 0; i < 300 && (engine.status().streams > 0 || engine.memory.used > 0); i++)
    await setTimeout(10);
  expect(engine.status().streams).toBe(0);
  expect(engine.memory.used).toBe(0);
}

describe('guardedGeneration', () => {
  it.each([
    ['windowed', 4, DEFAULT_SCORING],
    ['probabilities', 4, PROBABILITIES],
    ['every method', 4, { ...DEFAULT_SCORING, methods: METHODS }],
  ] as const)('leaves no trace of what was retracted in the scores: %s', async (_, seed, scoring) => {
    const events = await collect(seed, {}, scoring);
    expect(events).toContainEqual(expect.objectContaining({ type: 'rollback.done', outcome: 'replaced' }));
    const { tokens, scores } = follow(events);
    const alone = await scoreAlone(tokens, scoring);
    expect(scores).toHaveLength(tokens.length);
    const steps = events.filter((event) => event.type === 'step.done');
    const flaggedSteps = steps.filter(({ flagged }) => flagged).length;
    expect(events.at(-1)).toMatchObject({
      verdict: { steps: steps.length, flaggedSteps, unscoredTokens: 0, calibrated: true, reason: null },
    });
    for (const [i, { scores: streamed, skipped }] of scores.entries()) {
      expect(skipped).toEqual(alone[i]!.skipped);
      for (const [method, value] of Object.entries(alone[i]!.scores)) {
        const tolerance = 1e-5 + 1e-3 * Math.abs(value);
        expect(
          Math.abs(streamed[method as keyof typeof streamed]! - value),
          `${method} of ${i}`,
        ).toBeLessThan(tolerance);
      }
    }
  });

  it('goes through the same steps as the whole text', async () => {
    const events = await collect(3);
    const { text } = follow(events);
    const steps = events.flatMap((event) => (event.type === 'step.done' ? [event.text] : []));
    expect(steps).toEqual(segmentText(text).map((step) => step.text));
  });

  it.each([4, 5])(
    'ends in the same text held as at once, and shows nothing held that is retracted: seed %i',
    async (seed) => {
      const immediate = await collect(seed);
      const held = await collect(seed, { delivery: 'held' });
      expect(typesOf(immediate)).toContain('token.retracted');
      expect(typesOf(held)).not.toContain('token.retracted');
      expect(follow(held).text).toBe(follow(immediate).text);
      expect(held.at(-1)).toMatchObject({
        type: 'generation.done',
        usage: { completionTokens: follow(held).tokens.length },
      });
    },
  );

  it('spends no more than was allowed', async () => {
    const events = await collect(5, { maxRollbacks: 1 });
    expect(events.filter(({ type }) => type === 'rollback.started')).toHaveLength(1);
    const flagged = events.flatMap((event) => (event.type === 'step.flagged' ? [event.action] : []));
    expect(new Set(flagged.slice(1))).toEqual(new Set(['annotate']));
  });

  it('stops at a flagged step; held, nothing of it is shown', async () => {
    for (const delivery of ['immediate', 'held'] as const) {
      const events = await collect(1, { action: 'stop', delivery });
      const { tokens, text } = follow(events);
      const flagged = events.find((event) => event.type === 'step.flagged');
      expect(events.at(-1)).toMatchObject({
        finishReason: 'content_filter',
        usage: { completionTokens: tokens.length },
        verdict: { flagged: true, flaggedSteps: 1, reason: 'stopped' },
      });
      if (delivery === 'held') expect(tokens).toHaveLength(flagged!.from);
      else expect(text).toContain(flagged!.text);
    }
  });

  it('leaves nothing behind, whenever it is cancelled', async () => {
    const types = (await collect(6)).map(({ type }) => type);
    const started = types.indexOf('rollback.started') + 1;
    const third = Math.round(types.length / 3);
    for (const at of [1, 5, third, started, started + 1, started + 2, 2 * third, types.length - 1]) {
      await lastValueFrom(guardedAnswer(6).pipe(take(at)));
    }
    guardedAnswer(6).subscribe().unsubscribe();
    for (const ms of [0, 3, 30, 100]) {
      const subscription = guardedAnswer(6).subscribe();
      await setTimeout(ms);
      subscription.unsubscribe();
    }
    await idle();
  });

  it('waits for a reader, in the middle of a rollback too', async () => {
    const gate = new FlowGate();
    const events: GuardEvent[] = [];
    let release = (): void => {};
    const finished = lastValueFrom(
      guardedAnswer(1, {}, DEFAULT_SCORING, gate).pipe(
        tap((event) => {
          events.push(event);
          if (event.type === 'rollback.started') release = gate.hold();
        }),
      ),
    );
    while (!events.some(({ type }) => type === 'rollback.started')) await setTimeout(5);
    await setTimeout(300);
    expect(typesOf(events)).not.toContain('generation.done');
    const pump = setInterval(() => release(), 5);
    await finished;
    clearInterval(pump);
    expect(follow(events).text).toBe(follow(await collect(1)).text);
  });

  it.each(['decode', 'score'] as const)(
    'ends in an error when the %s process dies in a rollback',
    async (role) => {
      // Its own scores judge: for others a further pass may find the process that was started again.
      const judged = role === 'score' ? ({ method: 'adversarial' } as const) : {};
      const events = guardedAnswer(1, judged).pipe(
        tap(({ type }) => {
          if (type === 'rollback.started') kill(engine.status()[role].pid);
        }),
      );
      await expect(lastValueFrom(events)).rejects.toMatchObject({ name: 'EngineError' });
      await engine.start();
      await idle();
    },
  );

  it.each(['fp32', 'int8'] as const)('runs no score process for probabilities in %s', async (precision) => {
    const other = await Engine.open(REASONER, { precision });
    const request = { ...greedy(other), scoring: PROBABILITIES, guard: DEFAULT_GUARD, risks };
    const { scores, tokens } = follow(await lastValueFrom(guardedGeneration(other, request).pipe(toArray())));
    expect(scores).toHaveLength(tokens.length);
    expect(other.status().score.pid).toBeUndefined();
    await other.close();
  });

  it('sets memory aside for the candidates before the first token, or refuses', async () => {
    const small = await Engine.open(REASONER, { memoryLimit: 25e6 });
    const request = { ...endless(small, 400), scoring: DEFAULT_SCORING, risks };
    const guard: Guard = { ...DEFAULT_GUARD, action: 'rollback', candidates: 16 };
    await expect(lastValueFrom(guardedGeneration(small, { ...request, guard }))).rejects.toMatchObject({
      code: 'memory',
    });
    expect(small.memory.used).toBe(0);
    await small.close();
  });
});

/** The final text, scored as if nothing had ever been retracted, with blocks that end where steps may begin. */
async function scoreAlone(tokens: readonly TokenEvent[], scoring: Scoring) {
  const promptIds = encodePrompt(engine.checkpoint, [{ role: 'user', content: QUESTION }]);
  const scorer = await SequenceScorer.open(engine, promptIds, scoring);
  const aligner = new StepAligner();
  const scores = await scorer.push(
    tokens.map((token) => ({ id: modelId(token), begins: aligner.begins(token.text) })),
  );
  scores.push(...(await scorer.finish()));
  scorer.close();
  return scores;
}
