import type { ActionName, SpikeEvent, StepEvent } from '../stream/events.js';

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
      /** The first token that is drawn anew, one of the step's. */
      readonly from: number;
      /** How many continuations are drawn. */
      readonly candidates: number;
      readonly temperature?: number;
      readonly choose: Choose;
    }
  | {
      readonly action: 'reflect';
      /** Text that is put after the step, such as a request to check it. */
      readonly text: string;
    };

export type Rollback = Extract<Intervention, { action: 'rollback' }>;

/** Information for a policy, in addition to the step or the spike. */
export interface PolicyContext {
  /** Rollbacks and reflections of this response so far. */
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

/**
 * Decides about each spike, as soon as it is known. A rollback is to the spike itself: the rest of its step is drawn
 * anew, and what is chosen stands to the end of the step.
 */
export type SpikePolicy = (
  spike: SpikeEvent,
  context: PolicyContext,
) => Exclude<Intervention, { action: 'reflect' }>;
