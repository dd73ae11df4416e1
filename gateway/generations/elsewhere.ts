import type { Principal } from '../access/principal.js';
import type { EventHistory } from './event-history.js';
import type { ReadGeneration, Sink } from './live-generation.js';

/** Position at which a generation is to go on: the offset of its next frame. */
export interface ResumePoint {
  readonly id: string;
  readonly epoch: string;
  readonly offset: number;
}

/** A generation that goes on for another sink, once it is told to ({@link ReadGeneration.resume}). */
export interface Resumed<Own extends Sink> {
  readonly generation: ReadGeneration;
  readonly sink: Own;
}

/** Generations of other processes: of the other workers of the port, or of other gateways (gateway/state). */
export interface Elsewhere {
  /**
   * @param over told once it is read no more here
   * @throws ApiError 503 if it cannot be known
   */
  resume<Own extends Sink>(
    point: ResumePoint,
    principal: Principal,
    reader: { readonly sinkOf: (generation: ReadGeneration) => Own; readonly over: () => void },
  ): Promise<Resumed<Own> | null>;
  holds(owner: string): Promise<boolean>;
  /** Ends those that their client has lost before it learned their id. */
  forgetLost(owner: string, requestId: string): void;
  /** Whether one of ours is still ours: no other process has taken us for dead. */
  owns?(id: string): boolean | Promise<boolean>;
  /**
   * Has other gateways find a generation of ours, where they do not ask us.
   * @returns `null` if they cannot: then it cannot be resumed
   */
  publish?(generation: Published): Promise<Publication | null>;
}

/** A generation that others are to find. */
export interface Published {
  readonly id: string;
  /** Name of the principal that may resume it. */
  readonly owner: string;
  readonly requestId: string | undefined;
  readonly model: string;
  /** Its frames, and how many of them are kept. */
  readonly history: EventHistory;
  /** Another gateway has taken us for dead, and has ended it. */
  readonly endedElsewhere: () => void;
}

/** Reports changes of a published generation. */
export interface Publication {
  /** Its history has changed. */
  changed(): void;
  /** The generation has written its last frame. */
  ended(): void;
  /** The generation cannot be resumed any more. */
  forgotten(): void;
}
