import { EngineError } from '../engine/engine-errors.js';
import type { GuardEvent } from '../stream/events.js';
import { FlowGate } from '../stream/flow-gate.js';
import type { Branch, Continuation } from './branch.js';
import { EventReader } from './event-reader.js';

/** A branch that is being read. */
export interface Followed {
  readonly branch: Branch;
  readonly gate: FlowGate;
  readonly reader: EventReader<GuardEvent>;
}

/** The branches of one response that are read, and those that were. */
export class FollowedBranches {
  readonly #gate: FlowGate;
  readonly #dispensable: (error: unknown) => boolean;
  readonly #open = new Set<Followed>();
  #written = 0;
  #closed = false;

  /**
   * @param gate held by a reader that does not keep up
   * @param dispensable whether a continuation that fails with this error is done without
   */
  constructor(gate: FlowGate, dispensable: (error: unknown) => boolean) {
    this.#gate = gate;
    this.#dispensable = dispensable;
  }

  /** Tokens written for branches that are closed. */
  get written(): number {
    return this.#written;
  }

  read(branch: Branch): Followed {
    const gate = new FlowGate(this.#gate);
    const followed = { branch, gate, reader: new EventReader(branch.events(gate), gate) };
    this.#open.add(followed);
    return followed;
  }

  /**
   * Another continuation.
   * @param use what is done with it
   * @returns `null` for one that fails and is done without
   */
  async fork<T>(
    branch: Branch,
    continuation: Continuation,
    use: (followed: Followed) => T | Promise<T>,
  ): Promise<T | null> {
    try {
      const fork = await branch.fork(continuation);
      if (!this.#closed) return await use(this.read(fork));
      fork.close();
      throw new EngineError('closed', 'the response was cancelled');
    } catch (error) {
      if (this.#dispensable(error)) return null;
      throw error;
    }
  }

  leaveOthers(...stay: readonly Followed[]): void {
    for (const followed of this.#open) if (!stay.includes(followed)) this.#leave(followed);
  }

  close(): void {
    this.#closed = true;
    this.leaveOthers();
  }

  #leave(followed: Followed): void {
    this.#open.delete(followed);
    followed.reader.close();
    this.#written += followed.branch.written;
    followed.branch.close();
  }
}
