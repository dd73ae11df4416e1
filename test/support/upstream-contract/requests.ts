import { describe, expect, test } from 'vitest';
import { streamed } from '../upstream-gateway.js';
import { type ContractBench, tokensOf } from './contract-bench.js';

/** Fields of a client's request reach the server. */
export function requests(bench: ContractBench): void {
  describe('a request', () => {
    test('ends after max_tokens, and usage is what the server counts', async () => {
      const expected = await bench.direct({ max_tokens: 9 });
      const { url } = await bench.gateway();
      const answer = await streamed(url, {
        ...bench.greedy,
        max_tokens: 9,
        stream_options: { include_usage: true },
      });
      expect(answer.text).toBe(expected.text);
      expect(answer.chunks.find(({ usage }) => usage)?.usage).toMatchObject({
        prompt_tokens: expected.usage!.prompt_tokens,
        completion_tokens: 9,
      });
      expect(answer.chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? [])).toEqual(['length']);
    });

    test('ends at a stop string: one within a token, and one that spans tokens', async () => {
      const { text, tokens } = await bench.read();
      const texts = tokens.map((token) => token.text);
      const spanning = texts.findIndex(
        (each, i) => i > 3 && each.length > 1 && (texts[i + 1]?.length ?? 0) > 2,
      );
      expect(spanning).toBeGreaterThan(0);
      const stops = [
        texts[spanning]!.trim(),
        `${texts[spanning]!.slice(-1)}${texts[spanning + 1]!.slice(0, 2)}`,
      ];
      for (const stop of stops) {
        const { url } = await bench.gateway();
        const answer = await streamed(url, { ...bench.greedy, stop: [stop], logprobs: true });
        const expected = text.slice(0, text.indexOf(stop));
        expect(answer).toMatchObject({ text: expected, done: true, error: null });
        const own = tokensOf(answer.chunks);
        expect(own.map((token) => token.text).join('')).toBe(expected);
        // Only the one that the stop string cuts through has no log-probability.
        expect(own.slice(0, -1).every(({ logprob }) => logprob !== null)).toBe(true);
        const reasons = answer.chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? []);
        expect(reasons).toEqual(['stop']);
      }
    });

    bench.point(
      'longPrompt',
      'that nearly fills the context ends with it, and one that does not fit is refused by its field',
      async () => {
        const { url } = await bench.gateway();
        const asked = (words: number) => [{ role: 'user', content: 'and '.repeat(words).trim() }];
        const tokens = async (words: number): Promise<number> =>
          (await bench.direct({ messages: asked(words), max_tokens: 1 })).usage!.prompt_tokens;
        const [few, more] = [await tokens(10), await tokens(20)];
        const each = (more - few) / 10;
        const near = 10 + Math.floor((bench.model.context - 8 - few) / each);
        expect(await tokens(near)).toBeGreaterThan(bench.model.context - 20);
        const fits = await streamed(url, { messages: asked(near), temperature: 0 });
        expect(fits).toMatchObject({ status: 200, done: true, error: null });
        const over = await streamed(url, { messages: asked(near + 20), temperature: 0 });
        expect(over).toMatchObject({ status: 400, error: { code: 'upstream_refused', param: 'messages' } });
        expect(over.error!.message).toMatch(/context|tokens/);
      },
    );

    bench.point('tooManyTokens', 'for more tokens than the context has is refused by its field', async () => {
      const { url } = await bench.gateway();
      const tooMany = await streamed(url, { ...bench.greedy, max_tokens: 100_000 });
      expect(tooMany).toMatchObject({
        status: 400,
        error: { code: 'upstream_refused', param: 'max_tokens' },
      });
    });

    bench.point(
      'unknownModel',
      'for a model that the server does not know ends in an error of the configuration',
      async () => {
        const { url } = await bench.gateway({
          upstreams: [{ url: bench.server.url, model: 'unknown-model' }],
        });
        expect(await streamed(url, bench.greedy)).toMatchObject({
          status: 502,
          error: { code: 'upstream_not_found' },
        });
      },
    );

    test('among many at once ends well, and beyond max_streams is refused', async () => {
      const { url } = await bench.gateway({ max_streams: 64 });
      const many = await Promise.all(Array.from({ length: 16 }, () => streamed(url, bench.greedy)));
      for (const answer of many) expect(answer).toMatchObject({ status: 200, done: true, error: null });
      const limited = await bench.gateway({ max_streams: 2 });
      const some = await Promise.all(Array.from({ length: 6 }, () => streamed(limited.url, bench.greedy)));
      const refused = some.filter(({ status }) => status !== 200);
      expect(refused).toHaveLength(4);
      for (const { status, error } of refused) {
        expect({ status, code: error?.code }).toEqual({ status: 503, code: 'overloaded' });
      }
    });

    test('that the client gives up is given up by the server', async () => {
      const { url } = await bench.gateway();
      const abort = new AbortController();
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'm',
          messages: [{ role: 'user', content: bench.model.endless }],
          temperature: 0,
          stream: true,
        }),
        signal: abort.signal,
      });
      const reader = response.body!.getReader();
      for (let i = 0; i < 3; i++) await reader.read();
      expect(await bench.server.running()).toBe(1);
      abort.abort();
      await expect.poll(() => bench.server.running(), { timeout: 20_000 }).toBe(0);
    });
  });
}
