import { expect } from 'vitest';
import type { ModelConfig } from '#src/checkpoint/config.js';
import { expectedTensors } from '#src/checkpoint/weights.js';
import { RotaryEmbedding } from '#src/graphs/rope.js';

const size = (value: number) => Number.isSafeInteger(value) && value > 0;

/** Checks a configuration that was accepted: all sizes are sizes, all angles finite. */
export function checkConfig(config: ModelConfig): void {
  const { hiddenSize, intermediateSize, layers, heads, kvHeads, headDim, vocabSize, maxPositions } = config;
  const sizes = [hiddenSize, intermediateSize, layers, heads, kvHeads, headDim, vocabSize, maxPositions];
  expect(sizes.every(size)).toBe(true);
  expect([heads % kvHeads, headDim % 2, config.slidingWindow.length]).toEqual([0, 0, layers]);
  expect(config.slidingWindow.every((window) => window === null || size(window))).toBe(true);
  expect(config.normEpsilon).toBeGreaterThan(0);
  const ids = [...config.eosTokenIds, config.bosTokenId ?? 0];
  expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize)).toBe(true);
  for (const rope of config.ropes) {
    const { cos, sin } = new RotaryEmbedding(rope).angles([0, 1, maxPositions - 1]);
    expect([...cos, ...sin].every(Number.isFinite)).toBe(true);
  }
  expect(config.layerRopes.every((rope) => rope === null || config.ropes[rope])).toBe(true);
  expect([...expectedTensors(config).values()].flat().every(size)).toBe(true);
}
