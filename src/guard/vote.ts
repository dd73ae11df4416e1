/** What an answer says, in a form that is equal for answers that say the same; `null` if it says nothing. */
export type Said = string | null;

/**
 * The answer that says what most answers say (self-consistency, arXiv 2203.11171), the first one that does. Between contents
 * with as many votes, the one that was said first wins.
 *
 * @returns its index, and how many say the same; the first answer and 0 if none says anything
 */
export function elected(said: readonly Said[]): { readonly index: number; readonly votes: number } {
  let winner = { index: 0, votes: 0 };
  for (const [content, votes] of votesOf(said))
    if (votes > winner.votes) winner = { index: said.indexOf(content), votes };
  return winner;
}

/** Answers whose agreement ends a vote before it is settled: two of two agree too easily. */
const LEAST = 3;
/** 0.28 · 25 is a little more than 7. */
const ROUNDING = 1e-9;

/**
 * The least number of further answers after which a vote may end, out of `total` answers: those that it takes if all of
 * them agree with the leader. 0 once no further answer can change the winner, or enough answers agree.
 * @param agreement share of at least three answers that is enough, 0 to 1; `null`: only a settled vote ends
 */
export function answersNeeded(said: readonly Said[], total: number, agreement: number | null = null): number {
  const left = total - said.length;
  if (left <= 0) return 0;
  const { index, votes } = elected(said);
  const leader = said[index] ?? null;
  const settling = untilSettled(said, { leader, most: votes, left });
  if (agreement === null) return settling;
  const isEnough = (more: number): boolean =>
    said.length + more >= LEAST && votes + more >= agreement * (said.length + more) - ROUNDING;
  for (let more = 0; more < settling; more += 1) if (isEnough(more)) return more;
  return settling;
}

function untilSettled(
  said: readonly Said[],
  { leader, most, left }: { readonly leader: Said; readonly most: number; readonly left: number },
): number {
  // How far the leader is from being overtaken if all that are left say something else: first, what nobody has said so far.
  let margin = most - left;
  let isBefore = leader !== null;
  for (const [content, votes] of votesOf(said)) {
    if (content === leader) isBefore = false;
    else margin = Math.min(margin, most - votes - left - (isBefore ? 1 : 0));
  }
  return margin >= 0 ? 0 : Math.min(left, Math.ceil(-margin / 2));
}

/** Votes by content, in the order in which they were first said. */
function votesOf(said: readonly Said[]): ReadonlyMap<string, number> {
  const votes = new Map<string, number>();
  for (const content of said) if (content !== null) votes.set(content, (votes.get(content) ?? 0) + 1);
  return votes;
}
