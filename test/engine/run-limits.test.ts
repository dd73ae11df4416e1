import { describe, expect, it } from 'vitest';
import { longestSilence } from '#src/engine/run-limits.js';
import { openCheckpoint } from '#src/index.js';
import { REASONER } from '../support/golden.js';

const { config, weightBytes } = await openCheckpoint(REASONER);
const silence = (machine: object = {}, size: object = {}): number =>
  longestSilence({ config, threads: 1, ...machine }, { positions: 512, weightBytes, ...size });

describe('the longest silence of a process that works', () => {
  it('is short for a small model, and minutes for a large one', () => {
    expect(silence()).toBeLessThan(6);
    const large = {
      ...config,
      layers: 32,
      hiddenSize: 4096,
      intermediateSize: 11_008,
      heads: 32,
      headDim: 128,
    };
    const seconds = silence({ config: large, threads: 4 }, { positions: 8192, weightBytes: 14e9 });
    expect(seconds).toBeGreaterThan(300);
    expect(seconds).toBeLessThan(900);
  });

  it('grows with the text, and falls with the threads', () => {
    expect(silence({}, { positions: 256 })).toBeLessThan(silence());
    expect(silence({ threads: 4 })).toBeLessThan(silence());
  });
});
