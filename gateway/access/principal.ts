/** The client that a key stands for. */
export interface Principal {
  /** Name for logs, in place of the key. */
  readonly name: string;
  /** Id of the client: of one key, or, if no keys are required, of all requests from one address. */
  readonly client: string;
  /**
   * Takes on one generation.
   * @returns a function to call when it is over
   * @throws ApiError 429
   */
  admit(): (() => void) | Promise<() => void>;
  /**
   * Checks that its key is still valid: a reload may have removed it since it was admitted.
   * @throws ApiError 401
   */
  checkValid?(): void;
  /**
   * Counts the bytes of a message that was refused.
   * @throws ApiError 429 once there were too many
   */
  refused?(bytes: number): Promise<void>;
}
