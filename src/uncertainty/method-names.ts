import { TOKUR_METHODS } from './tokur.js';

/** The uncertainty methods of tokens, by the names that inputs, outputs and metrics use. Higher is less certain. */
export const METHODS = ['adversarial', 'random', ...TOKUR_METHODS, 'nll', 'entropy', 'margin'] as const;
export type Method = (typeof METHODS)[number];

/** Those that the distribution of a token says without a perturbation: whoever writes can tell them. */
export const PROBABILITY_METHODS = ['nll', 'entropy', 'margin'] as const satisfies readonly Method[];

/** Those that come from score passes alone, without further copies of the text. */
export const DEFAULT_METHODS = ['adversarial', ...PROBABILITY_METHODS] as const satisfies readonly Method[];

export type Scores = Readonly<Partial<Record<Method, number>>>;
