/** Values of one source. */
export interface ConfigLayer {
  readonly values: Readonly<Record<string, unknown>>;
  /** Names a field in messages: `flinch.yaml: limits.body_bytes`, `FLINCH_LIMITS_BODY_BYTES`, `--port`. */
  readonly location: (path: readonly PropertyKey[]) => string;
}

/** The values that have this one alone, at its place. */
export function nest(path: readonly string[], value: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path;
  return { [name]: rest.length === 0 ? value : nest(rest, value) };
}
