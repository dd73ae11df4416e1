import type { ModelConfig } from '../checkpoint/config.js';
import { productsOf } from '../checkpoint/weights.js';
import type { MachineSpeed } from './machine-speed.js';

/** Tokens in a second of one text alone on the machine, at most. */
export interface ModelSpeed {
  readonly written: number;
  /** Of a finished text that Adv. Pert. scores as a whole. */
  readonly scored: number;
}

/**
 * Upper bound: products at the machine's speed, and one reading of all weights for each token that is written.
 * Attention counts masked entries; casts of half-precision weights, which overlap with reading them, do not count.
 * @param weightBytes of the weights as stored
 * @param length of the text that is scored, in tokens
 */
export function modelSpeed(
  config: ModelConfig,
  weightBytes: number,
  length: number,
  { flops, bandwidth }: MachineSpeed,
): ModelSpeed {
  const oneToken = Math.max(weightBytes / bandwidth, (2 * multiplied(config)) / flops);
  return { written: 1 / oneToken, scored: (length * flops) / passOperations(config, length) };
}

/** Weights that vectors are multiplied by: a layer's matrices and the output head. An embedding is looked up. */
export const multiplied = (config: ModelConfig): number =>
  productsOf(config).reduce((sum, { shape: [out, inner] }) => sum + out * inner, 0);

/**
 * Operations of a score pass over a whole text, two for each multiplication and addition: two forward passes, and a
 * backward pass in which weights have no gradient.
 */
export function passOperations(config: ModelConfig, length: number): number {
  const product = 2 * config.heads * config.headDim * length * length;
  // A forward pass has two products with all keys, the backward pass four.
  return 3 * 2 * multiplied(config) * length + config.layers * 8 * product;
}
