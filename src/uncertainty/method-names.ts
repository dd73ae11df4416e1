import { TOKUR_METHODS } from './tokur.js';

/** Those that the distribution of a token says without a perturbation: whoever writes can tell them. */
export const PROBABILITY_METHODS = ['nll', 'entropy', 'margin'] as const;

/** The uncertainty methods of tokens, by the names that inputs, outputs and metrics use. Higher is less certain. */
export const METHODS = ['adversarial', 'random', ...TOKUR_METHODS, ...PROBABILITY_METHODS] as const;
export type Method = (typeof METHODS)[number];

/** Those that the log-probabilities of a token and of some others allow, which servers tell. */
export const LOGPROB_METHODS = ['nll', 'margin'] as const satisfies readonly Method[];

/** Those that come from score passes alone, without further copies of the text. */
export const DEFAULT_METHODS = ['adversarial', ...PROBABILITY_METHODS] as const satisfies readonly Method[];

export type Scores = Readonly<Partial<Record<Method, number>>>;
