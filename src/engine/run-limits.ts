import type { ModelConfig } from '../checkpoint/config.js';
import type { Backend } from './device.js';

/**
 * Floating-point operations that a run may take for each thread: about a second on a core with AVX-512 (96 GFLOP/s
 * measured), a few on others. A run cannot be interrupted: cancellation and other sequences wait for it.
 */
const RUN_OPERATIONS = 1e11;
/** Operations of a run on a GPU: a second of 10 TFLOP/s. */
const GPU_RUN_OPERATIONS = 1e13;
/**
 * A score pass of up to so many rows, or a part of a longer one, may take so many times as long as another run: of a large
 * model it is reading the weights, three times, that takes most of the time, whatever the rows. Cut into runs of 16 rows, a window
 * of 32 takes three times as long (Qwen2.5-Coder-1.5B, 4 bits).
 */
const PASS_ROWS = 128;
const PASS_SHARE = 10;
/** Bytes of activations that a run may take, beside copies of the keys and values before its rows. */
const RUN_BYTES = 2 ** 30;
/** Rows: below the least the weights are read for too little, whatever the time; beyond the most nothing is gained. */
const MIN_ROWS = 16;
const MAX_ROWS = 256;
/** Logits that a run may hold at once: scored rows times the vocabulary. */
const MAX_LOGITS = 2 ** 23;

/** Parameters of a machine that determine the time of a run. */
export interface Machine {
  readonly config: ModelConfig;
  /** Inside one operator. */
  readonly threads: number;
  /** `cpu` by default. */
  readonly device?: Backend;
}

export interface RunSize {
  readonly rows: number;
  /** Keys that a row attends to, at most. */
  readonly keys: number;
  /** Rows whose logits are needed. */
  readonly scored: number;
}

/** Whether a score pass, or several together, go through in one run: a forward, a backward and a forward pass. */
export function fitsOneRun(machine: Machine, size: RunSize): boolean {
  const { config } = machine;
  const most = operationsPerRun(machine) * (size.rows <= PASS_ROWS ? PASS_SHARE : 1);
  return (
    3 * operations(config, size) <= most &&
    scoreRunBytes(config, size) - keyBytes(config, size.keys, config.layers) <= RUN_BYTES &&
    size.scored * config.vocabSize <= 4 * MAX_LOGITS
  );
}

export interface RowCost {
  readonly keys: number;
  /** How often a row goes through the model in the run. */
  readonly passes: number;
  /** Whether logits of every row are needed. */
  readonly scored: boolean;
  /** Whether there is a backward pass, which needs what every layer computed. */
  readonly backward?: boolean;
}

/** Rows that a run may have, at least one. */
export function rowsPerRun(machine: Machine, { keys, passes, scored, backward = false }: RowCost): number {
  const { config } = machine;
  const row = { rows: 1, keys, scored: scored ? 1 : 0 };
  const inTime = Math.floor(operationsPerRun(machine) / (passes * operations(config, row)));
  const layers = backward ? config.layers : 1;
  const rowBytes = runBytes(config, row, layers) - keyBytes(config, keys, layers);
  const inMemory = Math.min(
    Math.floor(RUN_BYTES / rowBytes),
    scored ? Math.floor(MAX_LOGITS / config.vocabSize) : MAX_ROWS,
  );
  const least = backward ? Math.min(PASS_ROWS, PASS_SHARE * inTime) : 0;
  return Math.max(1, Math.min(Math.max(inTime, MIN_ROWS, least), inMemory, MAX_ROWS));
}

/** How much longer than predicted a run may take, on a machine that is slow or busy. */
const SLOWNESS = 20;
const SLOW_BYTES_PER_SECOND = 50e6;
/**
 * Per layer squared, for onnxruntime to plan the largest graph: five times what 32 samples through 30 layers took
 * (TokUR, 6.5 s).
 */
const SLOW_PLAN_SECONDS = 0.035;

/**
 * Seconds for which a process may be silent if it works: it plans a graph, reads the weights, and runs the longest run,
 * all of it slowly.
 */
export function longestSilence(
  machine: Machine,
  { positions, weightBytes }: { readonly positions: number; readonly weightBytes: number },
): number {
  const runs = (rows: number): number =>
    (3 * operations(machine.config, { rows, keys: positions, scored: rows })) / operationsPerRun(machine);
  const run = Math.max(Math.min(1, runs(positions)), Math.min(PASS_SHARE, runs(PASS_ROWS)), runs(MIN_ROWS));
  const plan = SLOW_PLAN_SECONDS * machine.config.layers ** 2;
  return plan + weightBytes / SLOW_BYTES_PER_SECOND + SLOWNESS * run;
}

const operationsPerRun = ({ threads, device = 'cpu' }: Machine): number =>
  device === 'cpu' ? RUN_OPERATIONS * threads : GPU_RUN_OPERATIONS;

/** Operations of a forward pass: two for each weight and row, and two products with all keys. */
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

/** Memory of a forward pass, which needs the activations of one layer at a time. */
export function forwardRunBytes(config: ModelConfig, size: RunSize): number {
  return runBytes(config, size, 1);
}

function runBytes(config: ModelConfig, { rows, keys, scored }: RunSize, layers: number): number {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  // More norms, soft caps and a longer activation leave more behind for the backward pass.
  const projected = (config.qkNorm ? 6 : 4) * (heads + kvHeads) * headDim;
  const inner = (config.activation === 'silu' ? 4 : 8) * intermediateSize;
  const linear = (config.norms === 'around' ? 8 : 6) * hiddenSize + projected + inner;
  const attention = (config.attentionCap ? 4 : 2) * heads * keys;
  const logits = (config.logitCap ? 8 : 6) * vocabSize * scored;
  return FLOAT * (layers * rows * (linear + attention) + logits) + keyBytes(config, keys, layers);
}

/** Keys and values of all positions, which a run over a part of a window copies to join them with its own. */
function keyBytes({ kvHeads, headDim }: ModelConfig, keys: number, layers: number): number {
  return FLOAT * layers * 2 * kvHeads * headDim * keys;
}
