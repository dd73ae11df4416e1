import { processMemory } from '#bench/process-memory.js';

/** Work that is measured: prompts of token ids, each with an answer of a given length. */
export interface Work {
  readonly prompts: readonly (readonly number[])[];
  /** Tokens to write, or to score, for each of them. */
  readonly tokens: number;
  /** Whether it is done with the first of these. */
  readonly first: boolean;
}

export interface Contestant {
  readonly name: string;
  /** The name of the one that it is compared with; by default the first. */
  readonly reference?: string;
  /** Answers all prompts at once. Fails if it writes another number of tokens. */
  run(work: Work): Promise<void>;
  /** Whether that has a meaning for it. */
  does(work: Work): boolean;
  /** Bytes of its processes now; `null` where the system does not tell. */
  memory(): Promise<number | null>;
  /** Lets it run, or stops it while another one is measured. */
  turn(mine: boolean): void;
  close(): Promise<void>;
  /** Ends it at once: this process is about to end. */
  kill(): void;
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
