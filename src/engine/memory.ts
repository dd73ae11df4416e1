import type { ModelConfig } from '../checkpoint/config.js';
import { capacityFor } from './kv-cache.js';
import { FLOAT, fitsOneRun, forwardRunBytes, type Machine, rowsPerRun, scoreRunBytes } from './run-limits.js';

/** Private memory that one sequence needs beside the weights and the runtime itself (about 100 MB for each process). */
export interface MemoryNeed {
  /** Bytes kept for as long as the sequence is open. */
  readonly kept: number;
  /** Bytes at the height of one run; in a process runs come one after the other. */
  readonly run: number;
}

/** How a sequence is scored, as far as memory goes. */
export interface ScoreSize {
  /** Prompt and response. */
  readonly positions: number;
  /** Positions that a pass covers, and tokens that it scores, at most. */
  readonly window: number;
  readonly scored: number;
  readonly replicas: number;
}

/**
 * Memory of a sequence that is being written.
 *
 * These are estimates by counting the tensors that are alive at once: the runtime's allocator rounds up and keeps what
 * it got.
 */
export function decodeMemory(machine: Machine, positions: number): MemoryNeed {
  const { config } = machine;
  const rows = rowsPerRun(machine, { keys: positions, passes: 1, scored: false });
  return {
    kept: cacheBytes(config, positions),
    run: forwardRunBytes(config, { rows: Math.min(rows, positions), keys: positions, scored: 1 }),
  };
}

export function scoreMemory(
  machine: Machine,
  { positions, window, scored, replicas }: ScoreSize,
): MemoryNeed {
  const { config } = machine;
  const rows = Math.min(window, positions);
  const tokens = Math.min(scored, positions);
  const cache = cacheBytes(config, positions);
  const fill = forwardRunBytes(config, { rows: Math.min(positions, 256), keys: positions, scored: 1 });
  const kept = cache * (1 + replicas);
  if (fitsOneRun(machine, { rows, keys: positions, scored: tokens })) {
    return { kept, run: Math.max(fill, scoreRunBytes(config, { rows, keys: positions, scored: tokens })) };
  }
  // The pass runs in chunks. It keeps the window's clean keys and values, their gradients before and after a
  // run, and embeddings.
  const chunk = Math.min(
    rows,
    rowsPerRun(machine, { keys: positions, passes: 2, scored: false, backward: true }),
  );
  const logits = rowsPerRun(machine, { keys: positions, passes: 2, scored: true, backward: true });
  const size = { rows: chunk, keys: positions, scored: Math.min(logits, tokens) };
  const beside = 3 * cacheBytes(config, rows) + 3 * FLOAT * rows * config.hiddenSize;
  return { kept: kept + beside, run: Math.max(fill, scoreRunBytes(config, size)) };
}

/** Graphs that are open with the default measures, and with Adv. Pert.: to write, to read prompts for scores, for passes. */
const DEFAULT_GRAPHS = { decode: 1, score: 2 } as const;

/**
 * Bytes of weights on a GPU with the default measures. Through WebGPU all graphs of a process share them, in fp32 where
 * the file has bf16 or FP8; CUDA has a copy for each graph.
 */
export function gpuWeights(
  weightBytes: number,
  { parameters, widened }: { readonly parameters: number; readonly widened: boolean },
): { readonly webgpu: number; readonly cuda: number } {
  const { decode, score } = DEFAULT_GRAPHS;
  return { webgpu: 2 * (widened ? parameters * FLOAT : weightBytes), cuda: (decode + score) * weightBytes };
}

/** Keys and values, with the room that a cache has to grow. */
function cacheBytes({ layers, kvHeads, headDim }: ModelConfig, positions: number): number {
  return 2 * layers * kvHeads * headDim * (1 + capacityFor(positions)) * FLOAT;
}
