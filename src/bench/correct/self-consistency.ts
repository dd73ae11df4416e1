/**
 * The answer that most samples give (self-consistency, arXiv 2203.11171); of several the one that came first. A sample
 * without an answer has no vote.
 */
export function mostCommon(answers: readonly (string | null)[]): string | null {
  const votes = new Map<string, number>();
  for (const answer of answers) if (answer !== null) votes.set(answer, (votes.get(answer) ?? 0) + 1);
  let best: string | null = null;
  for (const [answer, count] of votes) if (best === null || count > votes.get(best)!) best = answer;
  return best;
}
