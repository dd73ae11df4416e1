/** Completions of one prefix so far. */
export interface Draws {
  readonly drawn: number;
  /** Those that ended with the known answer. */
  readonly reached: number;
}

export interface RolloutRule {
  /** K: the most completions of a prefix. The answer is out of its reach if none of them has it. */
  readonly rollouts: number;
}

/** `next`: the number of steps of the prefix to draw after; `step`: the first wrong one, counted from 0. */
export type Verdict =
  | { readonly next: number }
  | { readonly step: number }
  | { readonly rejected: 'not_reached' };

export const NOTHING: Draws = { drawn: 0, reached: 0 };

/**
 * The first wrong step of a wrong response by rollouts, as Math-Shepherd estimates steps (arXiv 2312.08935): the first
 * step after which the answer is out of reach. Prefixes are looked at in their order, because whether the answer is in
 * reach need not be monotone in the prefix. The last prefix is the response itself, which is known to be wrong.
 * If the answer is out of reach from the prompt, rollouts can tell nothing.
 * @param draws by the number of steps of the prefix
 * @param steps of the response, at least one
 */
export function rolloutVerdict(draws: readonly Draws[], steps: number, rule: RolloutRule): Verdict {
  for (let prefix = 0; prefix < steps; prefix += 1) {
    const reached = inReach(draws[prefix] ?? NOTHING, rule);
    if (reached === null) return { next: prefix };
    if (!reached) return prefix === 0 ? { rejected: 'not_reached' } : { step: prefix - 1 };
  }
  return { step: steps - 1 };
}

/** `null` while further draws decide: what they cannot change any more is not drawn. */
export function inReach({ drawn, reached }: Draws, { rollouts }: RolloutRule): boolean | null {
  if (reached > 0) return true;
  return drawn >= rollouts ? false : null;
}
