import { verdictWords } from 'flinch-client';
import type { Guard } from '../../src/guard/guard.js';
import type { RiskModel } from '../../src/risk/risk.js';
import { MIN_ANSWERS } from '../../src/risk/running-risk.js';
import type { Verdict } from '../../src/stream/events.js';

/** What judges the answers. */
export interface Watched {
  readonly guard: Guard;
  readonly risks: RiskModel;
}

/** What the guard found in an answer. */
export interface Found {
  /** Number of steps that were flagged. */
  readonly flags: number;
  /** Whether a step had a rank: without one, nothing can be flagged. */
  readonly ranked: boolean;
  /** `null` for an answer that was stopped by its reader. */
  readonly verdict: Verdict | null;
}

/** What the guard found, by which method, and what there is to say of the answer as a whole. */
export function endLine({ flags, ranked, verdict }: Found, { guard, risks }: Watched): string {
  const steps = flags === 1 ? '1 step flagged' : `${flags} steps flagged`;
  const none =
    verdict === null ? 'nothing flagged so far' : verdict.flagged ? 'no step flagged' : 'nothing flagged';
  const parts = [flags > 0 ? steps : none, `judged by ${guard.method}`];
  if (verdict?.reason === 'too_few_answers') {
    const subject = ranked || flags > 0 ? 'answers' : 'steps and answers';
    parts.push(`${subject} cannot be judged yet: ${lackOf(guard, risks)}`);
  } else if (verdict && verdict.flagged !== false && verdict.reason !== 'stopped') {
    parts.push(verdictWords(verdict));
  }
  return parts.join('; ');
}

/** How many answers a calibration has, of those that the rate takes; or that there is none. */
function lackOf({ method, rate }: Guard, risks: RiskModel): string {
  if (!risks.calibrated(method, 'answer'))
    return `not calibrated, and fewer than ${MIN_ANSWERS} in this chat (see flinch calibrate)`;
  // The rank n / (n + 1) of a score above all n ordinary ones; a rate takes n ≥ 1 / rate − 1.
  const highest = risks.ofAnswer(method, Number.POSITIVE_INFINITY) ?? 0;
  return `${Math.round(highest / (1 - highest))} of ${Math.ceil(1 / rate) - 1} prompts`;
}
