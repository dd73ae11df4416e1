import { lastValueFrom, tap, toArray } from 'rxjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  type Engine,
  FlowGate,
  type GenerationEvent,
  generate,
  isProbability,
  METHODS,
  modelId,
  PROBABILITY_METHODS,
  type ScoreEvent,
  type Scoring,
  scoredGeneration,
  scoreResponse,
} from '#src/index.js';
import { largestDifference } from '../support/golden.js';
import { kill } from '../support/process.js';
import { endless, greedy } from '../support/requests.js';
import { sharedReasoner } from '../support/shared-engines.js';

let engine: Engine;
beforeAll(async () => {
  engine = await sharedReasoner();
});

const collect = async (scoring: Scoring | null, request = greedy(engine)): Promise<GenerationEvent[]> =>
  lastValueFrom(scoredGeneration(engine, request, scoring).pipe(toArray()));

const tokensOf = (events: readonly GenerationEvent[]) =>
  events.filter((event) => event.type === 'token.delta');
/** All scores of each token. */
const scoresOf = (events: readonly GenerationEvent[]) =>
  events.filter((event): event is ScoreEvent => event.type === 'score.delta' && !event.pending);

describe('scoredGeneration', () => {
  it('writes the same answer with scoring and without', async () => {
    const [scored, plain] = [await collect(DEFAULT_SCORING), await collect(null)];
    expect(tokensOf(scored).map(({ statistics: _, ...token }) => token)).toEqual(tokensOf(plain));
    expect(scoresOf(plain)).toEqual([]);
    expect(scored.at(-1)).toEqual(plain.at(-1));
  });

  it.each([
    { block: 8, window: 64 },
    { block: 3, window: 16 },
    { block: 1, window: 'all' },
  ] as const)(
    'gives each token the score that the finished text gets: $block, $window',
    async ({ block, window }) => {
      const scoring: Scoring = {
        methods: METHODS,
        alpha: 1e-4,
        schedule: { kind: 'windowed', block, window },
      };
      const request = greedy(engine, { maxTokens: 24 });
      const events = await collect(scoring, request);
      const ids = tokensOf(events).map(modelId);
      const { tokens } = await scoreResponse(engine, request.promptIds, ids, scoring);
      const streamed = scoresOf(events);
      expect(streamed.map(({ index, rival }) => [index, rival])).toEqual(
        tokens.map(({ index, rival }) => [index, rival]),
      );
      for (const method of METHODS) {
        const [now, then] = [streamed, tokens].map((all) =>
          all.map(({ scores }: Pick<ScoreEvent, 'scores'>) => scores[method]!),
        );
        // The writer computes probabilities in other graphs.
        const most = isProbability(method) ? 1e-4 : 0;
        expect(largestDifference(now!, then!), method).toBeLessThanOrEqual(most);
      }
    },
  );

  it('tells probabilities with the token, and the end of the text before the last passes', async () => {
    const events = await collect(DEFAULT_SCORING);
    const first = events.filter((event) => event.type === 'score.delta' && event.pending);
    expect(first.map((event) => 'index' in event && event.index)).toEqual(
      tokensOf(events).map(({ index }) => index),
    );
    for (const [i, { type }] of events.entries()) {
      if (type === 'token.delta') expect(events[i + 1]).toMatchObject({ pending: ['adversarial'] });
    }
    const [textDone, done] = ['text.done', 'generation.done'].map((type) =>
      events.findIndex((event) => event.type === type),
    );
    const { type: _, ...end } = events[done!]!;
    expect(events[textDone!]).toEqual({ type: 'text.done', ...end });
    const between = events.slice(textDone! + 1, done);
    expect(between.length).toBeGreaterThan(0);
    expect(between.every((event) => event.type === 'score.delta' && !event.pending)).toBe(true);
  });

  it('gives each token its probabilities at once, and they are those of the finished text', async () => {
    const scoring: Scoring = { ...DEFAULT_SCORING, methods: PROBABILITY_METHODS };
    const events = await collect(scoring);
    const written = events.slice(0, -1).map((event) => 'index' in event && [event.type, event.index]);
    const tokens = tokensOf(events);
    expect(written).toEqual(
      tokens.flatMap(({ index }) => [
        ['token.delta', index],
        ['score.delta', index],
      ]),
    );
    const finished = await scoreResponse(engine, greedy(engine).promptIds, tokens.map(modelId), scoring);
    for (const [i, { scores }] of scoresOf(events).entries()) {
      expect(Object.keys(scores)).toEqual(PROBABILITY_METHODS);
      for (const method of PROBABILITY_METHODS) {
        expect(Math.abs(scores[method]! - finished.tokens[i]!.scores[method]!)).toBeLessThan(1e-4);
      }
    }
  });

  it('ends with an error when the score process dies', async () => {
    const events = scoredGeneration(engine, endless(engine), DEFAULT_SCORING).pipe(
      tap((event) => {
        if (event.type === 'score.delta' && event.index === 0) kill(engine.status().score.pid);
      }),
    );
    await expect(lastValueFrom(events)).rejects.toMatchObject({ code: 'crashed' });
    expect(engine.status().streams).toBe(0);
    expect(scoresOf(await collect(DEFAULT_SCORING)).length).toBeGreaterThan(10);
  });
});

describe('generate', () => {
  it('takes no token while the gate is held', async () => {
    const gate = new FlowGate();
    const release = gate.hold();
    const events: GenerationEvent[] = [];
    const finished = lastValueFrom(
      generate(engine, greedy(engine), gate).pipe(tap((event) => events.push(event))),
    );
    await collect(null); // another generation runs from start to end meanwhile
    expect(events).toEqual([]);
    release();
    await finished;
    expect(events.at(-1)?.type).toBe('generation.done');
  });
});
