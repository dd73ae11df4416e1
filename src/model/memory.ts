import type { ModelConfig } from './config.js';

const FLOAT = 4;

export interface MemoryNeed {
  /** Bytes kept for the text: keys and values. */
  readonly cache: number;
  /** Bytes of activations at the height of one run. */
  readonly run: number;
}

export interface MemoryPrediction {
  readonly decode: MemoryNeed;
  readonly windowed: MemoryNeed;
  readonly offline: MemoryNeed;
}

/**
 * Private memory that one text needs beside the weights and the runtime itself (about 50 MB for each process), by
 * counting the tensors that are alive at once. An estimate: the runtime's allocator rounds up and keeps what it got.
 * @param length prompt and response, in tokens
 */
export function predictMemory(
  config: ModelConfig,
  { length, window, block }: { readonly length: number; readonly window: number; readonly block: number },
): MemoryPrediction {
  const cache = 2 * config.layers * config.kvHeads * config.headDim * length * FLOAT;
  return {
    decode: { cache, run: passBytes(config, 1, length, 1, 1) },
    windowed: { cache, run: scoreBytes(config, Math.min(window, length), length, Math.min(block, length)) },
    offline: { cache, run: scoreBytes(config, length, length, length) },
  };
}

/** Of a score pass in one run. */
export function scoreRunBytes(
  config: ModelConfig,
  { rows, keys, scored }: { readonly rows: number; readonly keys: number; readonly scored: number },
): number {
  return scoreBytes(config, rows, keys, scored);
}

/** The backward pass needs what every layer computed on the way. */
function scoreBytes(config: ModelConfig, positions: number, keys: number, scored: number): number {
  return passBytes(config, positions, keys, scored, config.layers);
}

function passBytes(
  config: ModelConfig,
  positions: number,
  keys: number,
  scored: number,
  layers: number,
): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  const linear = 6 * hiddenSize + 4 * heads * headDim + 4 * kvHeads * headDim + 4 * intermediateSize;
  const attention = 2 * heads * keys;
  const keyCopies = 2 * 2 * kvHeads * headDim * keys;
  const logits = 6 * vocabSize * scored;
  return FLOAT * (layers * (positions * (linear + attention) + keyCopies) + logits);
}
