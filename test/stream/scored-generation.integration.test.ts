import { lastValueFrom, tap, toArray } from 'rxjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  type Engine,
  FlowGate,
  type GenerationEvent,
  generate,
  METHODS,
  modelId,
  PROBABILITY_METHODS,
  type Scoring,
  scoredGeneration,
  scoreResponse,
} from '#src/index.js';
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
const scoresOf = (events: readonly GenerationEvent[]) =>
  events.filter((event) => event.type === 'score.delta');

describe('scoredGeneration', () => {
  it('writes the same answer with scoring and without', async () => {
    const [scored, plain] = [await collect(DEFAULT_SCORING), await collect(null)];
    expect(tokensOf(scored)).toEqual(tokensOf(plain));
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
      const streamed = scoresOf(events).map(({ index, scores, rival }) => ({ index, scores, rival }));
      expect(streamed).toEqual(tokens.map(({ index, scores, rival }) => ({ index, scores, rival })));
    },
  );

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
