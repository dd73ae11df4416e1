/** What a check has found. */
export interface Finding {
  /** What was checked, such as `port` or `upstream`. */
  readonly check: string;
  /** Which of several, such as the name of a model. */
  readonly of?: string;
  /** `problem`: the gateway would not start or not answer; `warning`: it would do so with less. */
  readonly status: 'ok' | 'warning' | 'problem';
  readonly found: string;
  /** A command, or lines of the configuration; `null` where nothing is wrong, or `found` says what to do. */
  readonly remedy: string | null;
}

export const ok = (check: string, found: string, of?: string): Finding => ({
  check,
  ...(of !== undefined && { of }),
  status: 'ok',
  found,
  remedy: null,
});

/** @param remedy command, or lines of the configuration */
export const bad = (
  status: 'warning' | 'problem',
  check: string,
  found: string,
  remedy: string | null,
  of?: string,
): Finding => ({ check, ...(of !== undefined && { of }), status, found, remedy });

/** The finding of a check that may throw: its error is the problem. */
export async function attempt(
  check: string,
  run: () => Finding | readonly Finding[] | Promise<Finding | readonly Finding[]>,
  remedy: string | null = null,
  of?: string,
): Promise<readonly Finding[]> {
  try {
    return [await run()].flat();
  } catch (error) {
    return [bad('problem', check, error instanceof Error ? error.message : String(error), remedy, of)];
  }
}
