import { KvCache } from '../kv-cache.js';
import { rowsPerRun } from '../run-limits.js';
import type { GraphRunners } from './graph-sessions.js';
import type { Runtime } from './sequence-run.js';

/**
 * Copies of one sequence that run perturbed, each with its own KV cache. The noise of a position never changes: so replicas
 * grow with the sequence, and a streamed value equals that of the finished sequence.
 */
export interface Replicas {
  /** Forgets what lies behind the first `length` positions. */
  cut(length: number): void;
  /** The same replicas of a sequence that begins with the same `length` positions. */
  fork(length: number): Replicas;
  /**
   * Brings the replicas up to the end of a sequence, run by run.
   * @returns numbers of each token from `from` on
   */
  advance(ids: readonly number[], from: number): Generator<() => Promise<void>, number[][]>;
}

export interface ReplicaContext {
  readonly runtime: Runtime;
  readonly sessions: GraphRunners;
  /** The largest number of positions. */
  readonly limit: number;
}

export function replicaCaches(count: number, { runtime: { config }, limit }: ReplicaContext): KvCache[] {
  return Array.from({ length: count }, () => new KvCache(config, limit));
}

/**
 * End of a run that begins at `start`. Rows whose next token is not asked for need no logits, and have a run
 * of their own.
 * @param replicas how many go through together
 */
export function replicaEnd(
  { runtime }: ReplicaContext,
  { start, from, last }: { readonly start: number; readonly from: number; readonly last: number },
  replicas: number,
): number {
  const scored = start >= from - 1;
  const rows = rowsPerRun(runtime, { keys: last, passes: 1, scored });
  const end = start + Math.max(1, Math.floor(rows / replicas));
  return Math.min(end, scored ? last : from - 1);
}

/**
 * The tokens that follow the rows of positions `start` to `end − 1`, as far as they are asked for. Where none is, one
 * is scored for nothing: onnxruntime dies of a division by zero when no row is.
 */
export function replicaTargets(ids: readonly number[], start: number, end: number, from: number): number[] {
  return ids.slice(Math.min(Math.max(start + 1, from), end), end + 1);
}
