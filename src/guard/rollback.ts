import { hash32 } from '../numerics/noise.js';
import type { StepEvent } from '../stream/events.js';
import { type Attempt, readCandidate, summaryOf } from './attempt.js';
import type { EmittedText } from './emitted-text.js';
import type { Followed, FollowedBranches } from './followed-branches.js';
import type { Rollback } from './policy.js';

/** What became of a rollback. */
export interface RolledBack {
  /** The branch to follow from there on; or the end of the response. */
  readonly next: Followed | { readonly finishReason: string };
  /** Whether a continuation failed that was all that was asked for. */
  readonly lost: boolean;
}

interface RollbackOptions {
  /** How many there were before. */
  readonly number: number;
  /** Other continuations are drawn by seeds that follow from it. */
  readonly seed: number;
  readonly branches: FollowedBranches;
  readonly text: EmittedText;
}

/** Draws candidates for a flagged step, and goes on with one of them, which may be the step itself. */
export async function rollBack(
  original: StepEvent,
  { candidates: count, choose, temperature }: Rollback,
  current: Followed,
  { number, seed, branches, text }: RollbackOptions,
): Promise<RolledBack> {
  const { step, from } = original;
  const seedOf = (candidate: number): number => hash32(seed, number + 1, candidate);
  text.emit({ type: 'rollback.started', rollback: number, step, from, candidates: count });
  const resume = current.gate.hold();
  const drawn = await Promise.all(
    Array.from({ length: count }, (_, i) => {
      const point = { step, from, seed: seedOf(i + 1) };
      const continuation = temperature === undefined ? point : { ...point, temperature };
      return branches.fork(current.branch, continuation, readCandidate);
    }),
  );
  const others = drawn.filter((attempt) => attempt !== null);
  const candidates = [summaryOf(original, text.scores), ...others].map(({ text, tokens, score }) => ({
    text,
    tokens,
    score,
  }));
  const chosen = choose(candidates);
  const content = candidates[chosen]?.text;
  if (content === undefined)
    throw new RangeError(`choose: ${chosen} is not one of ${candidates.length} candidates`);
  const done = { type: 'rollback.done', rollback: number, step, candidates } as const;
  const same = content === original.text;
  const attempt = same ? undefined : others[chosen - 1];
  const next = attempt ? await continued(attempt, current, branches, seedOf(0)) : null;
  const lost = others.length === 0 || next === 'lost';
  resume();
  if (!attempt || next === null || next === 'lost') {
    branches.leaveOthers(current);
    text.emit({ ...done, chosen: same ? chosen : 0, outcome: 'kept' });
    text.conclude(original);
    return { next: current, lost };
  }
  if (next !== 'over') branches.leaveOthers(next);
  text.retract(from);
  for (const event of attempt.events) text.pass(event);
  text.emit({ ...done, chosen, outcome: 'replaced' });
  if (attempt.step) text.conclude(attempt.step);
  const end = { finishReason: attempt.done?.finishReason ?? 'stop' };
  return { next: next === 'over' ? end : next, lost };
}

/**
 * Continues the response after the chosen candidate, as the request says.
 * @returns `null` where it cannot, `lost` where that fails: then nothing was taken back yet
 */
async function continued(
  { followed, step, done }: Attempt,
  current: Followed,
  branches: FollowedBranches,
  seed: number,
): Promise<Followed | 'over' | 'lost' | null> {
  if (done || !step) return 'over';
  if (!followed.branch.fits(step.to)) return null;
  branches.leaveOthers(current, followed);
  const point = { step: step.step + 1, from: step.to, seed };
  return (await branches.fork(followed.branch, point, (next) => next)) ?? 'lost';
}
