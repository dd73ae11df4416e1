import type { ModelConfig } from '../model/config.js';

/**
 * Floating-point operations that a run may take for each thread: about a second on a core with AVX-512 (96 GFLOP/s
 * measured), a few on others. A run cannot be interrupted: cancellation and other texts wait for it.
 */
const RUN_OPERATIONS = 1e11;
/** Bytes of activations that a run may take. */
const RUN_BYTES = 2 ** 30;
/** And rows. */
const MAX_ROWS = 256;
/** Logits that a run may hold at once: scored rows times the vocabulary. */
const MAX_LOGITS = 2 ** 22;

/** What computes, as far as time goes. */
export interface Machine {
  readonly config: ModelConfig;
  /** Inside one operator. */
  readonly threads: number;
}

export interface RunSize {
  readonly rows: number;
  /** Keys that a row attends to, at most. */
  readonly keys: number;
  /** Rows whose logits are needed. */
  readonly scored: number;
}

/** Whether a score pass goes through in one run: a forward, a backward and a perturbed forward pass. */
export function fitsOneRun({ config, threads }: Machine, size: RunSize): boolean {
  return (
    3 * operations(config, size) <= RUN_OPERATIONS * threads &&
    scoreRunBytes(config, size) <= RUN_BYTES &&
    size.scored * config.vocabSize <= 8 * MAX_LOGITS
  );
}

/** Rows that a run may have, at least one, if each of them goes through the model so many times. */
export function rowsPerRun(
  { config, threads }: Machine,
  { keys, passes, scored }: { readonly keys: number; readonly passes: number; readonly scored: boolean },
): number {
  const row = operations(config, { rows: 1, keys, scored: scored ? 1 : 0 });
  const affordable = Math.floor((RUN_OPERATIONS * threads) / (passes * row));
  const logits = scored ? Math.floor(MAX_LOGITS / config.vocabSize) : MAX_ROWS;
  return Math.max(1, Math.min(affordable, logits, MAX_ROWS));
}

/** Of a forward pass: two for each weight and row, and two products with all keys. */
function operations(config: ModelConfig, { rows, keys, scored }: RunSize): number {
  const { layers, hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  const weights = hiddenSize * (2 * heads * headDim + 2 * kvHeads * headDim + 3 * intermediateSize);
  return 2 * (rows * layers * (weights + 2 * heads * headDim * keys) + scored * hiddenSize * vocabSize);
}

export const FLOAT = 4;

/** Activations of a score pass: the backward pass needs what every layer computed on the way. */
export function scoreRunBytes(config: ModelConfig, size: RunSize): number {
  return runBytes(config, size, config.layers);
}

/** Of a forward pass, which needs those of one layer at a time. */
export function forwardRunBytes(config: ModelConfig, size: RunSize): number {
  return runBytes(config, size, 1);
}

function runBytes(
  { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize }: ModelConfig,
  { rows, keys, scored }: RunSize,
  layers: number,
): number {
  const linear = 6 * hiddenSize + 4 * heads * headDim + 4 * kvHeads * headDim + 4 * intermediateSize;
  const attention = 2 * heads * keys;
  const keyCopies = 2 * 2 * kvHeads * headDim * keys;
  const logits = 6 * vocabSize * scored;
  return FLOAT * (layers * (rows * (linear + attention) + keyCopies) + logits);
}
