import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { peakGrowth } from '#bench/process-memory.js';

const MEGABYTE = 2 ** 20;

describe('peakGrowth', () => {
  it.skipIf(!existsSync('/proc/self/clear_refs'))(
    'is what a process grew by, though it gave that back',
    async () => {
      const grown = (megabytes: number) =>
        peakGrowth(process.pid, async () => {
          // Filled: pages that nobody wrote to are not resident.
          Buffer.alloc(megabytes * MEGABYTE, 1);
          return megabytes;
        });
      const { result, bytes } = await grown(96);
      expect(result).toBe(96);
      expect(bytes).toBeGreaterThan(64 * MEGABYTE);
      expect((await grown(0)).bytes).toBeLessThan(64 * MEGABYTE);
    },
  );

  it('is not known of a process that does not run', async () => {
    expect(await peakGrowth(undefined, async () => 1)).toEqual({ result: 1, bytes: null });
  });
});
