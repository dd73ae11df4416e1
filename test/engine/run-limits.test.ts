import { describe, expect, it } from 'vitest';
import { fitsOneRun, longestSilence, rowsPerRun } from '#src/engine/run-limits.js';
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

describe('the passes that are one run', () => {
  /** Qwen2.5-Coder-1.5B. */
  const large = {
    ...config,
    layers: 28,
    hiddenSize: 1536,
    intermediateSize: 8960,
    vocabSize: 151_936,
    heads: 12,
    kvHeads: 2,
    headDim: 128,
  };
  const fits = (rows: number, threads: number, scored = 6): boolean =>
    fitsOneRun({ config: large, threads }, { rows, keys: 600, scored });

  it('are those of windows as streams have them, also of a large model', () => {
    expect(fits(32, 2, 16)).toBe(true);
    expect(fits(80, 2)).toBe(true);
    expect(fits(160, 2)).toBe(false);
    expect(fits(32, 0.1)).toBe(false);
  });

  it('leave long windows to parts, of as many rows as read the weights once for enough', () => {
    const size = { keys: 600, passes: 2, scored: false, backward: true };
    expect(rowsPerRun({ config: large, threads: 2 }, size)).toBe(128);
    expect(rowsPerRun({ config: large, threads: 0.1 }, size)).toBe(16);
    expect(rowsPerRun({ config: large, threads: 2 }, { ...size, scored: true })).toBe(55);
    expect(rowsPerRun({ config: large, threads: 2 }, { ...size, backward: false })).toBeLessThan(48);
  });
});
