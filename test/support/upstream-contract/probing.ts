import { describe, expect, test } from 'vitest';
import { recordingProxy } from '../upstream-proxy.js';
import type { ContractBench } from './contract-bench.js';

/** Capabilities are found out as docs/upstreams.md says. */
export function probing(bench: ContractBench): void {
  describe('probing', () => {
    test('finds out what it can do, in five requests', async () => {
      const proxy = await recordingProxy(bench.server.url);
      expect(await bench.client(proxy.url).probe()).toEqual(bench.subject.capabilities);
      expect(proxy.recorded).toHaveLength(5);
    });

    test('finds another way where prompts of ids are not taken', async () => {
      const proxy = await recordingProxy(bench.server.url, (path) => path === '/v1/completions');
      const { resume } = await bench.client(proxy.url).probe();
      expect(resume).toBe('continueFinalMessage');
    });
  });
}
