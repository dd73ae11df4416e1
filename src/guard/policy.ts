import { stepContent } from '../steps/step-content.js';
import type { ActionName, StepEvent } from '../stream/events.js';

/** A continuation in place of a flagged step; the flagged step itself is the first of them. */
export interface Candidate {
  readonly text: string;
  readonly tokens: number;
  /** Mean over its tokens of the scores that the guard goes by; `null` where none was scored. */
  readonly score: number | null;
}

/** @returns the index of the one to keep */
export type Choose = (candidates: readonly Candidate[]) => number;

/** Response to a flagged step. */
export type Intervention =
  | { readonly action: Extract<ActionName, 'annotate' | 'stop'> }
  | {
      readonly action: 'rollback';
      /** How many continuations are drawn. */
      readonly candidates: number;
      readonly temperature?: number;
      readonly choose: Choose;
    };

export type Rollback = Extract<Intervention, { action: 'rollback' }>;

/** Information for a policy, in addition to the step. */
export interface PolicyContext {
  /** Rollbacks of this response so far. */
  readonly interventions: number;
}

/**
 * Decides about each flagged step.
 *
 * @example
 * // Stop at a step that hardly any ordinary one exceeds, else only say so.
 * const policy: Policy = ({ risk }) => ({ action: risk !== null && risk > 0.999 ? 'stop' : 'annotate' });
 */
export type Policy = (step: StepEvent, context: PolicyContext) => Intervention | Promise<Intervention>;

/** The lowest mean score: a sum would favour short candidates. One without a token comes last. */
export const lowestUncertainty: Choose = (candidates) => {
  const scores = candidates.map(({ tokens, score }) =>
    tokens === 0 ? Number.POSITIVE_INFINITY : (score ?? 0),
  );
  return scores.indexOf(Math.min(...scores));
};

/**
 * Chooses what most candidates say (self-consistency, arXiv 2203.11171, of one step): the flagged step itself if
 * it says that, else the candidate with the lowest mean score that does. Between contents with as many votes,
 * that score decides.
 *
 * @param content part of a text that is compared; two texts with the same content say the same
 */
export function majority(content: (text: string) => string = stepContent): Choose {
  return (candidates) => {
    const contents = candidates.map(({ text }) => content(text));
    // One without a token says nothing.
    const votes = contents.map((mine, i) =>
      candidates[i]!.tokens === 0 ? 0 : contents.filter((other) => other === mine).length,
    );
    const most = Math.max(...votes);
    const indices = candidates.flatMap((_, i) => (votes[i] === most ? [i] : []));
    const best = indices[lowestUncertainty(indices.map((i) => candidates[i]!))]!;
    return contents[best] === contents[0] ? 0 : best;
  };
}
