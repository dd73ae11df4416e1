import type { Schedule } from '#src/uncertainty/schedule.js';

export interface Variant {
  readonly name: string;
  readonly schedule: Schedule;
}

const BLOCKS = [1, 4, 8, 16];
const EPSILONS = [0, 0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3];
const WINDOWS = [16, 32, 64, 'all'] as const;

/** The schedules that are compared. A further kind is added here, and nowhere else. */
export const VARIANTS: readonly Variant[] = [
  { name: 'offline', schedule: { kind: 'offline' } },
  ...BLOCKS.flatMap((block) =>
    WINDOWS.map((window): Variant => {
      return { name: `block ${block}, window ${window}`, schedule: { kind: 'windowed', block, window } };
    }),
  ),
  ...EPSILONS.map((epsilon): Variant => {
    return { name: `lazy, epsilon ${epsilon}`, schedule: { kind: 'lazy', block: 1, window: 64, epsilon } };
  }),
];

/**
 * Variants that the others are compared with, by name: the paper's, the most exact while streaming, and the
 * default.
 */
export const REFERENCES = ['offline', 'block 1, window all', 'block 8, window 64'] as const;
