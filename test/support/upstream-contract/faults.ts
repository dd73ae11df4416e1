import { describe, expect, test } from 'vitest';
import { post } from '../gateway.js';
import { streamed } from '../upstream-gateway.js';
import type { ContractBench } from './contract-bench.js';

/** The process of the server is stopped, or killed and started again. */
export function faults(bench: ContractBench): void {
  describe('a fault in the middle', () => {
    const endless = { messages: [{ role: 'user', content: bench.model.endless }], temperature: 0 };

    /** Does something to the server once the answer has begun. */
    async function during(url: string, act: () => void) {
      const response = await post(url, { model: 'm', stream: true, ...endless });
      const reader = response.body!.getReader();
      const decoder = new TextDecoder();
      let text = '';
      for (let acted = false; ; ) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += decoder.decode(value, { stream: true });
        if (!acted && text.split('data: ').length > 4) {
          act();
          acted = true;
        }
      }
    }

    test('a process that stops is a timeout, and serves again once it goes on', async () => {
      const { url } = await bench.gateway({ timeouts: bench.subject.timeouts });
      await streamed(url, bench.greedy);
      const text = await during(url, () => bench.server.signal('SIGSTOP'));
      try {
        expect(text).toContain('"code":"upstream_timeout"');
        expect(text).not.toContain('[DONE]');
        expect(await streamed(url, bench.greedy)).toMatchObject({
          status: 504,
          error: { code: 'upstream_timeout' },
        });
      } finally {
        bench.server.signal('SIGCONT');
      }
      await expect
        .poll(async () => (await streamed(url, bench.greedy)).done, { timeout: 300_000, interval: 500 })
        .toBe(true);
    });

    test('a process that is killed is an error, and its successor at the same port is used', async () => {
      const { url, status } = await bench.gateway();
      await streamed(url, bench.greedy);
      const text = await during(url, () => bench.server.signal('SIGKILL'));
      expect(text).toContain('"code":"upstream_error"');
      expect(text).not.toContain('[DONE]');
      const down = await streamed(url, bench.greedy);
      expect(down).toMatchObject({ status: 502, error: { code: 'upstream_unreachable' } });
      await bench.server.close();
      await bench.start(Number(new URL(bench.server.url).port));
      await expect
        .poll(async () => (await streamed(url, bench.greedy)).done, { timeout: 300_000, interval: 500 })
        .toBe(true);
      await expect
        .poll(() => status(), { timeout: 300_000 })
        .toMatchObject({
          ready: true,
          upstreams: [{ reachable: true, capabilities: bench.subject.capabilities, error: null }],
        });
    });
  });
}
