/** What one source says. */
export interface ConfigLayer {
  readonly values: Readonly<Record<string, unknown>>;
  /** Where it says so, for messages: `flinch.yaml: limits.body_bytes`, `FLINCH_LIMITS_BODY_BYTES`, `--port`. */
  readonly place: (path: readonly PropertyKey[]) => string;
}
