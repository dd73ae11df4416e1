/**
 * TokUR's uncertainties of the distribution that a token was drawn from, in the order of the engine's answer: the
 * epistemic one, between models whose query and value weights are perturbed, the total and the aleatoric one
 * (docs/design/evaluation.md, section 3). The token itself plays no part.
 */
export const TOKUR_METHODS = ['tokur_eu', 'tokur_tu', 'tokur_au'] as const;
