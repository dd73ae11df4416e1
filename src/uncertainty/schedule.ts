/**
 * Selects the tokens that one adversary attacks, and how far back it may move embeddings
 * (docs/design/incremental-scoring.md).
 *
 * - `offline`: the paper's. One pass over the finished sequence, all response tokens attacked at once.
 * - `windowed`: one pass per block of new tokens, over the `window` positions before the last of them. Its scale
 *   does not drift as the sequence grows, and it needs no later token.
 */
export type Schedule =
  | { readonly kind: 'offline' }
  | {
      readonly kind: 'windowed';
      /** New tokens per pass. */
      readonly block: number;
      /** Positions that a pass covers, at least `block`; `all` reaches back to the first. */
      readonly window: number | 'all';
    };

/** How many new tokens a pass waits for, at most. */
export function blockOf(schedule: Schedule): number {
  return schedule.kind === 'offline' ? Number.POSITIVE_INFINITY : schedule.block;
}

/**
 * The first position (0-based) of the pass that scores tokens `from` to `to − 1`; its last position is `to − 2`.
 * @param attacked without an adversary nothing before the first new token is needed but its cache
 */
export function passStart(
  schedule: Schedule,
  { from, to, attacked }: { readonly from: number; readonly to: number; readonly attacked: boolean },
): number {
  if (schedule.kind === 'offline') return 0;
  if (!attacked) return from - 1;
  return schedule.window === 'all' ? 0 : Math.max(0, to - 1 - schedule.window);
}

/** The most positions that a pass covers, of a text of so many. */
export function passSize(schedule: Schedule, positions: number): number {
  if (schedule.kind === 'offline' || schedule.window === 'all') return positions;
  return Math.min(positions, schedule.window);
}
