import type { ModelConfig } from '../../model/config.js';
import { scoreRunBytes } from '../../model/memory.js';
import type { Runtime } from './text-run.js';

/**
 * Floating-point operations that a run may take for each thread: about a second on a core with AVX-512 (96 GFLOP/s
 * measured), a few on others. A run cannot be interrupted: cancellation and other texts wait for it.
 */
const RUN_OPERATIONS = 1e11;
/** Bytes of activations that a run may take. */
const RUN_BYTES = 2 ** 30;
const MAX_ROWS = 256;
/** Logits that a run may hold at once: rows that are scored times the vocabulary. */
const MAX_LOGITS = 2 ** 22;

export interface RunSize {
  readonly rows: number;
  /** Keys that a row attends to, at most. */
  readonly keys: number;
  /** Rows whose logits are needed. */
  readonly scored: number;
}

/** Whether a score pass goes through in one run: a forward, a backward and a perturbed forward pass. */
export function fitsOneRun({ config, threads }: Runtime, size: RunSize): boolean {
  return (
    3 * operations(config, size) <= RUN_OPERATIONS * threads &&
    scoreRunBytes(config, size) <= RUN_BYTES &&
    size.scored * config.vocabSize <= 8 * MAX_LOGITS
  );
}

/** Rows that a run may have, at least one, if each of them goes through the model so many times. */
export function rowsPerRun(
  { config, threads }: Runtime,
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
