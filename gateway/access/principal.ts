/** Who asks: what a key stands for. */
export interface Principal {
  /** For logs, in place of the key. */
  readonly name: string;
  /** Whom it stands for: one key; where none is asked for, all of one address. */
  readonly client: string;
  /**
   * Takes on one generation.
   * @returns to be called when it is over
   * @throws ApiError 429
   */
  admit(): (() => void) | Promise<() => void>;
  /**
   * Counts the bytes of a message that was refused.
   * @throws ApiError 429 once there were too many
   */
  refused?(bytes: number): Promise<void>;
}

/** Everybody, where no keys are asked for. */
export const ANONYMOUS: Principal = { name: 'anonymous', client: '', admit: () => () => {} };
