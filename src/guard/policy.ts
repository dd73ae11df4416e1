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
