import { describe, expect, test } from 'vitest';
import { stoppedAcross } from '#gateway/upstream/servers/continuation.js';
import { open, readAll } from '../upstream-server.js';
import { type ContractBench, textOf } from './contract-bench.js';

/** A text that has begun goes on. */
export function continuations(bench: ContractBench): void {
  describe('a text that has begun', () => {
    test('goes on by its ids', async (context) => {
      const whole = await bench.read();
      const promptIds = whole.promptIds ?? (await bench.promptIds());
      if (!promptIds) return context.skip('nobody knows the ids of the prompt');
      const kept = whole.tokens.slice(0, 10);
      const prefix = { text: textOf(kept), promptIds, ids: kept.map(({ id }) => id!) };
      const rest = await bench.read({ prefix, maxTokens: 24 - kept.length });
      expect(`${prefix.text}${rest.text}`).toBe(whole.text);
      expect(rest.usage!.promptTokens).toBe(promptIds.length + kept.length);
      // Log-probabilities are those of the same text.
      for (const [i, { id, logprob }] of rest.tokens.entries()) {
        expect(id).toBe(whole.tokens[10 + i]!.id);
        expect(logprob, `of token ${i}`).toBeCloseTo(whole.tokens[10 + i]!.logprob!, 3);
      }
    });

    bench.point('continueFinalMessage', 'goes on by its text', async () => {
      const whole = await bench.read();
      const kept = whole.tokens.slice(0, 10);
      const prefix = { text: textOf(kept), promptIds: null, ids: null };
      const rest = await bench.read({ prefix, maxTokens: 24 - kept.length });
      expect(`${prefix.text}${rest.text}`).toBe(whole.text);
    });

    test('ends at a stop string that begins in it', async () => {
      const whole = await bench.read();
      const kept = whole.tokens.slice(0, 10);
      const before = textOf(kept);
      const stop = `${before.slice(-2)}${whole.text.slice(before.length, before.length + 2)}`;
      const prefix = { text: before, promptIds: null, ids: null };
      const request = {
        messages: bench.messages,
        sampling: { temperature: 0 },
        maxTokens: 14,
        prefix,
        stop: [stop],
      };
      const rest = stoppedAcross(await open(bench.client(), request), before, [stop]);
      expect((await readAll(rest)).text).toBe('');
      expect(rest.end().finishReason).toBe('stop');
    });
  });
}
