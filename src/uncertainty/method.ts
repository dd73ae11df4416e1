/** The token-level measures, by the names that inputs, outputs and metrics use. Higher is less certain. */
export const METHODS = ['adversarial', 'nll', 'entropy', 'margin'] as const;
export type Method = (typeof METHODS)[number];

export type Scores = Readonly<Partial<Record<Method, number>>>;
