import { describe, expect, test } from 'vitest';
import { streamed } from '../upstream-gateway.js';
import { type ContractBench, ODD, textOf, tokensOf } from './contract-bench.js';

/** Ids and log-probabilities are those of the server. */
export function tokens(bench: ContractBench): void {
  describe('tokens', () => {
    test('have the ids and log-probabilities that the server tells', async () => {
      const { url } = await bench.gateway();
      const expected = await bench.direct();
      const answer = await streamed(url, { ...bench.greedy, logprobs: true, top_logprobs: 2 });
      const tokens = tokensOf(answer.chunks);
      expect(answer).toMatchObject({ text: expected.text, done: true, error: null });
      const ids = tokens.map(({ id }) => id);
      expect(ids).toEqual(expected.ids.slice(0, ids.length));
      expect(ids.length).toBeGreaterThanOrEqual(Math.min(20, expected.ids.length - 1));
      expect(tokens.map(({ text }) => text).join('')).toBe(expected.text);
      for (const [i, { logprob }] of tokens.entries()) {
        expect(logprob, `of token ${i}`).toBeCloseTo(expected.logprobs[i]!, 3);
      }
    });

    test('are described at a high temperature as the model sees them, and the seed is passed on', async () => {
      const { url } = await bench.gateway();
      const sampled = { ...bench.greedy, temperature: 1, seed: 5, max_tokens: 16 };
      const expected = await bench.direct(sampled);
      const answer = await streamed(url, { ...sampled, logprobs: true, top_logprobs: 1 });
      expect(answer.text).toBe(expected.text);
      for (const [i, { logprob }] of tokensOf(answer.chunks).entries()) {
        expect(logprob, `of token ${i}`).toBeCloseTo(expected.logprobs[i]!, 3);
      }
    });

    bench.point('promptIds', 'come after a prompt whose ids are told', async () => {
      const { promptIds, usage } = await bench.read();
      expect(promptIds).toHaveLength(usage!.promptTokens!);
      const expected = await bench.promptIds();
      if (expected) expect(promptIds).toEqual(expected);
    });

    bench.point('unicode', 'of parts of characters are joined as the server joins them', async (context) => {
      let parts = 0;
      for (let seed = 1; seed <= 2; seed++) {
        const sampling = { temperature: 1.2, seed };
        const expected = await bench.direct({ messages: ODD, max_tokens: 40, ...sampling });
        const answer = await bench.read({ messages: ODD, sampling, maxTokens: 40 });
        expect(answer.text).toBe(expected.text);
        // The server sends no token text for bytes that are no character: their ids come beside the text.
        const ids = answer.pieces.flatMap(
          ({ tokens, ids }): readonly (number | null)[] => tokens?.map(({ id }) => id) ?? ids ?? [],
        );
        expect(ids).toEqual(expected.ids.slice(0, ids.length));
        expect(ids.length).toBeGreaterThanOrEqual(expected.ids.length - 1);
        for (const { text, tokens } of answer.pieces) if (tokens) expect(textOf(tokens)).toBe(text);
        parts += answer.tokens.filter(({ text }) => text === '').length;
        parts += answer.pieces.filter(({ tokens }) => !tokens).length;
      }
      await context.annotate(`${parts} tokens were parts of characters`, 'measured');
      expect(parts).toBeGreaterThan(0);
    });
  });
}
