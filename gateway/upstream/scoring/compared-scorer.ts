import type { ForkableScorer } from '../../../src/guard/engine-branch.js';
import type { ScorableToken, Scored } from '../../../src/stream/score.js';
import type { Method } from '../../../src/uncertainty/method-names.js';
import type { NewToken, SequenceScorer, TokenScore } from '../../../src/uncertainty/sequence-scorer.js';
import type { GenerationAgreement } from '../alignment/agreement.js';

/**
 * A sequence scorer whose log-probabilities are compared with those that the server sent for the same tokens.
 * It is not given the server's: what it told then would be these. From the first unknown token on, nothing is scored any
 * more.
 *
 * @param methods that are missing then
 * @param from index of the first token that it will be given
 */
export function comparedScorer(
  sequence: SequenceScorer,
  agreement: GenerationAgreement,
  methods: readonly Method[],
  from = 0,
): ForkableScorer {
  const sent: (number | undefined)[] = [];
  let next = from;
  let lost = false;
  const compare = async (passes: Promise<TokenScore[]>): Promise<readonly Scored[]> => {
    const scores = await passes;
    for (const { index, logprob } of scores) agreement.compare(logprob, sent[index - from] ?? null);
    return scores;
  };
  const withoutLogprobs = (tokens: readonly NewToken[]): NewToken[] => {
    for (const { logprob } of tokens) sent.push(logprob);
    return tokens.map(({ logprob: _, ...token }) => token);
  };
  const finish = (): Promise<readonly Scored[]> => compare(sequence.finish());
  /** Scores tokens; unknown ones are reported as missing. */
  const take = async (
    tokens: readonly ScorableToken[],
    known: (tokens: readonly NewToken[]) => Promise<readonly Scored[]>,
  ): Promise<readonly Scored[]> => {
    const first = next;
    next += tokens.length;
    if (!lost && tokens.every(hasId)) return known(withoutLogprobs(tokens));
    // Tokens that wait for their pass are still scored.
    const before = lost ? [] : await finish();
    lost = true;
    const unknown = tokens.map((_, i) => ({
      index: first + i,
      scores: {},
      skipped: [],
      missing: methods,
      rival: null,
    }));
    return [...before, ...unknown];
  };
  return {
    push: (tokens) => take(tokens, (known) => compare(sequence.push(known))),
    finish: () => (lost ? Promise.resolve([]) : finish()),
    passOver: (tokens) => take(tokens, (known) => sequence.passOver(known)),
    fork: async (keep) => comparedScorer(await sequence.fork(keep), agreement, methods, keep),
    close: () => sequence.close(),
  };
}

const hasId = (token: ScorableToken): token is NewToken => token.id !== null;
