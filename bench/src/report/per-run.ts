import type { Block } from './document.js';
import { runTitle } from './run-title.js';
import type { Run } from './runs.js';

/** The blocks of each run, under its title where several runs have some. */
export function perRun(runs: readonly Run[], blocksOf: (run: Run) => readonly Block[]): Block[] {
  const parts = runs.map((run) => ({ run, blocks: blocksOf(run) })).filter(({ blocks }) => blocks.length > 0);
  if (parts.length === 1) return [...parts[0]!.blocks];
  return parts.flatMap(({ run, blocks }) => [{ kind: 'heading', text: runTitle(run) } as const, ...blocks]);
}
