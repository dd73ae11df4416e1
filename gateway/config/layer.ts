/** A configuration that cannot be used. The message begins with the place: file and field, variable, or flag. */
export class ConfigError extends Error {
  readonly type = 'config';
  readonly place: string;

  constructor(place: string, problem: string) {
    super(`${place}: ${problem}`);
    this.name = 'ConfigError';
    this.place = place;
  }
}

/** What one source says. */
export interface ConfigLayer {
  readonly values: Readonly<Record<string, unknown>>;
  /** Where it says so, for messages: `flinch.yaml: limits.body_bytes`, `FLINCH_LIMITS_BODY_BYTES`, `--port`. */
  readonly place: (path: readonly PropertyKey[]) => string;
}
