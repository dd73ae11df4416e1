import type { PassToken } from '../engine/protocol.js';

/** −log p(x): natural log, temperature 1, full vocabulary (docs/design/evaluation.md, section 1). */
export const nll = ({ logprob }: PassToken): number => -logprob;
