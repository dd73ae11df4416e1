import type { ModelConfig } from '../checkpoint/config.js';
import { DEFAULT_RANDOM, DEFAULT_TOKUR } from '../uncertainty/settings.js';
import type { MachineSpeed } from './machine-speed.js';
import { passOperations, weightMatrices } from './products.js';

/** A response of the benchmark, in tokens. */
export interface ResponseSize {
  readonly prompt: number;
  readonly response: number;
}

/** Estimated seconds for one response, each piece of work alone on the machine. */
export interface ResponseCost {
  readonly generate: number;
  /** nll, entropy, margin: the clean forward pass. */
  readonly probability: number;
  /** Forward, backward, forward: the offline score. */
  readonly adversarial: number;
  readonly random: number;
  readonly tokur: number;
}

/**
 * Lower bound of a response's cost: products at the machine's speed, and one reading of all weights for each
 * token that is written. Attention counts masked entries; casts of half-precision weights, which overlap with
 * reading them, do not count.
 * @param weightBytes of the weights as stored
 */
export function responseCost(
  config: ModelConfig,
  weightBytes: number,
  { prompt, response }: ResponseSize,
  { flops, bandwidth }: MachineSpeed,
): ResponseCost {
  const positions = prompt + response - 1;
  const forward = (rows: number, scored: number): number => forwardOperations(config, rows, scored) / flops;
  const pass = passOperations(config, { window: positions, past: 0, scored: response });
  const clean = forward(positions, response);
  return {
    generate: forward(prompt, 1) + response * Math.max(weightBytes / bandwidth, forward(1, 1)),
    probability: clean,
    adversarial: (pass.weights + pass.attention) / flops,
    random: (1 + DEFAULT_RANDOM.samples) * clean,
    tokur: DEFAULT_TOKUR.samples * clean,
  };
}

function forwardOperations(config: ModelConfig, rows: number, scored: number): number {
  const weights = weightMatrices(config).reduce(
    (sum, { out, inner, head }) => sum + 2 * out * inner * (head ? scored : rows),
    0,
  );
  return weights + config.layers * 4 * config.heads * config.headDim * rows * rows;
}
