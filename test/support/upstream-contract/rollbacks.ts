import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { calibratedModel } from '../guarded-model.js';
import { streamed } from '../upstream-gateway.js';
import { type Recorded, recordingProxy } from '../upstream-proxy.js';
import { type ContractBench, finalTokens, textOf } from './contract-bench.js';

/** Steps are written again. */
export function rollbacks(bench: ContractBench): void {
  describe('a rollback', () => {
    const action = {
      action: 'rollback',
      rate: 0.5,
      max_rollbacks: 2,
      candidates: 2,
    };

    joins('by the ids of the tokens', () => false);
    joins('by the text alone', (path) => path === '/v1/completions');

    function joins(title: string, refuse: (path: string) => boolean): void {
      bench.point('scorer', `${title} joins the text exactly`, async (context) => {
        const calibrated = bench.path(`calibrated-${title.length}`);
        const { scorer, mismatches } = await bench.scorerOf(
          await calibratedModel(bench.model.checkpoint!, calibrated, 1e-9),
        );
        const proxy = await recordingProxy(bench.server.url, refuse);
        const { url } = await bench.gateway(
          { upstreams: [{ url: proxy.url, model: bench.model.name }] },
          { scorer },
        );
        let replaced = 0;
        let continuations = 0;
        for (const seed of [1, 2, 3]) {
          proxy.recorded.length = 0;
          const events = await bench.generation(url, { temperature: 1, seed, max_tokens: 80, guard: action });
          expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
          const done = events.filter(({ type }) => type === 'rollback.done');
          replaced += done.filter(({ outcome }) => outcome === 'replaced').length;
          const tokens = finalTokens(events);
          const { tokenizer } = scorer.engine.checkpoint;
          expect(tokenizer.decode(tokens.map(({ id }) => id!))).toBe(textOf(tokens));
          const continued = proxy.recorded.filter(isContinuation);
          // There is none if the first step was written again: there is no text before it.
          continuations += continued.length;
          for (const { path, status } of continued) {
            expect({ path, status }).toEqual({
              path: refuse('/v1/completions') ? '/v1/chat/completions' : '/v1/completions',
              status: 200,
            });
          }
        }
        await context.annotate(`${replaced} steps were replaced`, 'measured');
        expect(replaced).toBeGreaterThan(0);
        expect(continuations).toBeGreaterThan(0);
        expect(mismatches).toEqual([]);
      });
    }

    test('without a scorer joins the text exactly', async () => {
      const { url } = await bench.gateway();
      // The running estimate knows enough steps by then.
      const doubt = { methods: ['nll'], rate: 0.5 };
      for (let seed = 0; seed < 5; seed++) {
        await streamed(url, { messages: bench.messages, temperature: 1, seed, max_tokens: 64, guard: doubt });
      }
      const events = await bench.generation(url, {
        temperature: 1,
        seed: 99,
        max_tokens: 48,
        guard: { ...action, ...doubt },
      });
      finalTokens(events);
      expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
      expect(events.filter(({ type }) => type === 'rollback.done').length).toBeGreaterThan(0);
    });
  });
}

/** Whether a request goes on with a text. */
function isContinuation({ body }: Recorded): boolean {
  if (body.max_tokens === 2) return false;
  const { messages } = z.object({ messages: z.array(z.object({ role: z.string() })).optional() }).parse(body);
  return body.prompt !== undefined || messages?.at(-1)?.role === 'assistant';
}
