/**
 * The token-level measures, by the names that inputs, outputs and metrics use. Higher is less certain, but for
 * `tokur_*`, where only EU is a measure of doubt about the token; see their files.
 */
export const METHODS = ['adversarial', 'random', 'nll', 'entropy', 'margin'] as const;
export type Method = (typeof METHODS)[number];

/** Those that a score pass gives without further ones. */
export const DEFAULT_METHODS = [
  'adversarial',
  'nll',
  'entropy',
  'margin',
] as const satisfies readonly Method[];

export type Scores = Readonly<Partial<Record<Method, number>>>;
