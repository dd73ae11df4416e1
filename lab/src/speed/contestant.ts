import { processMemory } from '#bench/process-memory.js';
import type { DecodeSpeed } from './answer-times.js';

/** Work that is measured: prompts of token ids, each with an answer of a given length. */
export interface Work {
  readonly prompts: readonly (readonly number[])[];
  /** Tokens to write, or to score, for each of them. */
  readonly tokens: number;
  /** Positions that the longest prompt and its answer may take; the same for the warm-up. */
  readonly positions: number;
}

/** `firstSeconds` is `null` where nothing is written. */
export type Measured = Omit<DecodeSpeed, 'firstSeconds'> & { readonly firstSeconds: number | null };

/**
 * A program that is measured. It has the machine for itself from its opening until it is closed. It does not outlive this
 * process.
 */
export interface Contestant {
  readonly name: string;
  /** The name of the one that it is compared with; by default the first. */
  readonly reference?: string;
  /** Whether that has a meaning for it. */
  does(work: Work): boolean;
  open(): Promise<OpenContestant>;
}

export interface OpenContestant {
  /** Answers all prompts at once. Fails if it writes another number of tokens. */
  run(work: Work): Promise<Measured>;
  /** Leads the tree of its processes. */
  readonly pid: number;
  close(): Promise<void>;
}

/** @throws Error if one of the answers is not as long as it had to be */
export function checkCount(name: string, counts: readonly number[], tokens: number): void {
  const wrong = counts.find((count) => count !== tokens);
  if (wrong !== undefined) throw new Error(`${name} wrote ${wrong} tokens instead of ${tokens}`);
}

/** Memory of processes together. Shared pages (weights, libraries) count once. */
export async function memoryOf(pids: readonly number[]): Promise<number | null> {
  const all = await Promise.all(pids.map(processMemory));
  const known = all.filter((memory) => memory !== null);
  if (known.length === 0 || known.length < all.length) return null;
  return known.reduce((sum, memory) => sum + memory.proportional, 0);
}
