import { describe, expect } from 'vitest';
import { changedModel } from '../changed-model.js';
import { streamed } from '../upstream-gateway.js';
import { recordingProxy } from '../upstream-proxy.js';
import { type ContractBench, finalTokens, ODD, textOf } from './contract-bench.js';
import { said } from './said.js';

/** A checkpoint of the same weights scores what the server writes. */
export function scored(bench: ContractBench): void {
  describe('with a scorer of the same weights', () => {
    bench.point(
      'scorer',
      'is scored by the ids that the server tells, and the two agree',
      async (context) => {
        const { scorer, mismatches } = await bench.scorerOf(bench.model.checkpoint!);
        const proxy = await recordingProxy(bench.server.url);
        const { url } = await bench.gateway(
          { upstreams: [{ url: proxy.url, model: bench.model.name }] },
          { scorer },
        );
        await streamed(url, { ...bench.greedy, max_tokens: 1 });
        proxy.recorded.length = 0;
        for (const [temperature, seed] of [
          [0, 0],
          [1, 1],
          [1, 2],
          [0.7, 3],
        ] as const) {
          const events = await bench.generation(url, {
            temperature,
            seed,
            max_tokens: 64,
            guard: { methods: ['nll'] },
          });
          expect(events.at(-1)?.type).toBe('generation.done');
          const tokens = finalTokens(events);
          const wire = said(proxy.recorded.at(-1)!.response().toString());
          const ids = tokens.map(({ id }) => id);
          expect(ids).toEqual(wire.ids.slice(0, ids.length));
          expect(textOf(tokens)).toBe(wire.text);
        }
        const { difference, tokens } = scorer.state;
        await context.annotate(
          `mean absolute difference of log-probabilities ${difference?.toExponential(2)} nats over ${tokens} tokens`,
          'measured',
        );
        expect(tokens).toBeGreaterThan(60);
        expect(difference).toBeLessThan(bench.subject.agreement);
        expect(mismatches).toEqual([]);
      },
    );

    bench.point('unicode', 'is scored by its ids also where characters have several tokens', async () => {
      const { scorer, mismatches } = await bench.scorerOf(bench.model.checkpoint!);
      const proxy = await recordingProxy(bench.server.url);
      const { url } = await bench.gateway(
        { upstreams: [{ url: proxy.url, model: bench.model.name }] },
        { scorer },
      );
      for (const seed of [1, 2]) {
        const events = await bench.generation(url, {
          messages: ODD,
          temperature: 1.2,
          seed,
          max_tokens: 48,
          guard: { methods: ['nll'] },
        });
        expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
        const tokens = finalTokens(events);
        const wire = said(proxy.recorded.at(-1)!.response().toString());
        const ids = tokens.map(({ id }) => id);
        expect(textOf(tokens)).toBe(wire.text);
        expect(ids).toEqual(wire.ids.slice(0, ids.length));
      }
      expect(mismatches).toEqual([]);
    });

    bench.point('scorer', 'is scored by all methods of a pass', async () => {
      const { scorer } = await bench.scorerOf(bench.model.checkpoint!);
      const { url } = await bench.gateway({}, { scorer });
      const methods = ['adversarial', 'nll', 'entropy', 'margin'];
      const events = await bench.generation(url, { temperature: 0, max_tokens: 16, guard: { methods } });
      const scores = events.filter(({ type }) => type === 'score.delta');
      expect(scores).toHaveLength(16);
      for (const { scores: each } of scores) {
        expect(Object.keys(Object(each)).sort()).toEqual(['adversarial', 'entropy', 'margin', 'nll']);
      }
    });

    bench.point('scorer', 'is found to be another where its weights are others', async (context) => {
      const near = changedModel(bench.model.checkpoint!, bench.path('near'), (weights) => {
        for (const i of weights.keys()) weights[i]! *= i % 2 === 0 ? 1.5 : 0.5;
      });
      const { scorer, mismatches } = await bench.scorerOf(near);
      const { url } = await bench.gateway({}, { scorer });
      const changes = { temperature: 0, max_tokens: 40, guard: { methods: ['nll'], lag: 'wait' } };
      const events = await bench.generation(url, changes);
      await context.annotate(`difference ${scorer.state.difference?.toFixed(2)} nats`, 'measured');
      expect(events.filter(({ type }) => type === 'scorer.mismatch')).toHaveLength(1);
      expect(mismatches).toHaveLength(1);
    });
  });
}
