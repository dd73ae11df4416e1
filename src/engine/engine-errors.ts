/**
 * - `crashed`: the engine process died; a new one is being started
 * - `stalled`: the engine process stood and was killed; a new one is being started
 * - `unavailable`: it could not be started
 * - `overloaded`: as many streams as the engine admits are under way
 * - `failed`: this computation went wrong; the process lives
 * - `closed`: the engine was closed
 * - `too_long`: the text does not fit the context
 * - `memory`: it fits the context, but could never fit the memory that texts may take
 */
export type EngineErrorCode =
  | 'crashed'
  | 'stalled'
  | 'unavailable'
  | 'overloaded'
  | 'failed'
  | 'closed'
  | 'too_long'
  | 'memory';

export class EngineError extends Error {
  readonly type = 'engine';
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EngineError';
    this.code = code;
  }
}
