import { TOKEN_STATISTICS } from '../numerics/token-statistics.js';

/**
 * TokUR's uncertainties of the distribution that a token was drawn from, in the order of the engine's answer: the
 * epistemic one, between models whose query and value weights are perturbed, the total and the aleatoric one
 * (docs/design/evaluation.md, section 3). The token itself plays no part.
 */
export const TOKUR_METHODS = ['tokur_eu', 'tokur_tu', 'tokur_au'] as const;

/** Methods that need only a token's distribution, no perturbation: the writer of the text can report them. */
export const PROBABILITY_METHODS = ['nll', ...TOKEN_STATISTICS] as const;

/** The uncertainty methods of tokens, by the names that inputs, outputs and metrics use. Higher is less certain. */
export const METHODS = ['adversarial', 'random', ...TOKUR_METHODS, ...PROBABILITY_METHODS] as const;
export type Method = (typeof METHODS)[number];

export const isProbability = (method: Method): boolean =>
  PROBABILITY_METHODS.some((probability) => probability === method);

/** Methods that need only score passes, without further copies of the text. */
export const DEFAULT_METHODS = ['adversarial', ...PROBABILITY_METHODS] as const satisfies readonly Method[];

export type Scores = Readonly<Partial<Record<Method, number>>>;
