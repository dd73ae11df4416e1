import { TOKEN_STATISTICS } from '../numerics/token-statistics.js';
import { TOKUR_METHODS } from './tokur.js';

/** Methods that need only a token's distribution, no perturbation: the writer of the text can report them. */
export const PROBABILITY_METHODS = ['nll', ...TOKEN_STATISTICS] as const;

/** The uncertainty methods of tokens, by the names that inputs, outputs and metrics use. Higher is less certain. */
export const METHODS = ['adversarial', 'random', ...TOKUR_METHODS, ...PROBABILITY_METHODS] as const;
export type Method = (typeof METHODS)[number];

/** Methods that need only score passes, without further copies of the text. */
export const DEFAULT_METHODS = ['adversarial', ...PROBABILITY_METHODS] as const satisfies readonly Method[];

export type Scores = Readonly<Partial<Record<Method, number>>>;
