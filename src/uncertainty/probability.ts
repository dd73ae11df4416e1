import type { PassToken } from '../engine/protocol.js';

/** Baselines that need one forward pass (docs/design/evaluation.md, section 1). Full vocabulary, temperature 1, natural log. */

/** −log p(x). */
export const nll = ({ logprob }: PassToken): number => -logprob;

/** −Σ p log p over the vocabulary. */
export const entropy = (token: PassToken): number => token.entropy;

/** 1 − (p(x) − the largest p(v), v ≠ x), between 0 and 2. */
export const margin = (token: PassToken): number => token.margin;
