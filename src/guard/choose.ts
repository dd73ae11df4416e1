import { stepContent } from '../steps/step-content.js';
import type { Choose } from './policy.js';

/** The lowest mean score: a sum would favour short candidates. One without a token comes last. */
export const lowestUncertainty: Choose = (candidates) => {
  const scores = candidates.map(({ tokens, score }) =>
    tokens === 0 ? Number.POSITIVE_INFINITY : (score ?? 0),
  );
  return scores.indexOf(Math.min(...scores));
};

/**
 * Chooses what most candidates say (self-consistency, arXiv 2203.11171, of one step): the flagged step itself if
 * it says that, else the candidate with the lowest mean score that does. Between contents with as many votes,
 * that score decides.
 *
 * @param content part of a text that is compared; two texts with the same content say the same
 */
export function majority(content: (text: string) => string = stepContent): Choose {
  return (candidates) => {
    const contents = candidates.map(({ text }) => content(text));
    // One without a token says nothing.
    const votes = contents.map((mine, i) =>
      candidates[i]!.tokens === 0 ? 0 : contents.filter((other) => other === mine).length,
    );
    const most = Math.max(...votes);
    const indices = candidates.flatMap((_, i) => (votes[i] === most ? [i] : []));
    const best = indices[lowestUncertainty(indices.map((i) => candidates[i]!))]!;
    return contents[best] === contents[0] ? 0 : best;
  };
}

/** A random choice, as a control for other choices. */
export const atRandom =
  (random: () => number): Choose =>
  (candidates) =>
    Math.floor(random() * candidates.length);
