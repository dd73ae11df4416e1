import { mean, sum } from './means.js';
import { having, joined, type Results, type Row, rowsFor } from './row.js';

/** Measures that flinch-bench shares with lm-polygraph. */
export function polygraphRows(results: Results): Row[] {
  const { polygraph, questions } = results;
  const row = rowsFor('lm-polygraph');
  const answers = joined(results, having(polygraph, 'perplexity'));
  const tokens = answers.flatMap(({ flinch, peer }) =>
    flinch.nll.map((nll, i) => ({ nll, entropy: flinch.entropy[i]!, peer: peer.tokens, i })),
  );
  const ended = answers.flatMap(({ flinch, peer }) =>
    flinch.withEnd ? [{ flinch, end: flinch.withEnd, peer: peer.with_end }] : [],
  );
  const meant = joined(results, having(polygraph, 'ccp'));
  const claims = meant.flatMap(({ flinch, peer }) =>
    flinch.ccp.map((ccp, i) => ({
      ccp,
      functional: flinch.functional[i]!,
      asPolygraph: flinch.ccpAsPolygraph[i] ?? null,
      peer: peer.ccp_tokens[i]!,
    })),
  );
  const content = claims.filter(({ functional }) => !functional);
  const within = claims.flatMap(({ asPolygraph, peer }) =>
    asPolygraph === null ? [] : [{ asPolygraph, peer }],
  );
  const lexical = having(polygraph, 'rouge_l');
  return [
    row(
      'log-likelihood',
      'nll',
      'tokens',
      tokens,
      ({ nll }) => nll,
      ({ peer, i }) => peer.nll[i]!,
    ),
    row(
      'TokenEntropy',
      'entropy',
      'tokens',
      tokens,
      ({ entropy }) => entropy,
      ({ peer, i }) => peer.entropy[i]!,
    ),
    row(
      'MaximumSequenceProbability',
      'sum of nll',
      'answers',
      answers,
      ({ flinch }) => sum(flinch.nll),
      ({ peer }) => peer.sequence,
    ),
    row(
      'Perplexity',
      'mean of nll',
      'answers',
      answers,
      ({ flinch }) => mean(flinch.nll),
      ({ peer }) => peer.perplexity,
    ),
    row(
      'MeanTokenEntropy',
      'mean of entropy',
      'answers',
      answers,
      ({ flinch }) => mean(flinch.entropy),
      ({ peer }) => peer.entropy,
    ),
    row(
      'Perplexity, with the end token',
      'mean of nll',
      'answers',
      ended,
      ({ flinch }) => mean(flinch.nll),
      ({ peer }) => peer.perplexity,
    ),
    row(
      'Perplexity, with the end token',
      'mean of nll, with the end token',
      'answers',
      ended,
      ({ end }) => end.perplexity,
      ({ peer }) => peer.perplexity,
    ),
    row(
      'MeanTokenEntropy, with the end token',
      'mean of entropy',
      'answers',
      ended,
      ({ flinch }) => mean(flinch.entropy),
      ({ peer }) => peer.entropy,
    ),
    row(
      'MeanTokenEntropy, with the end token',
      'mean of entropy, with the end token',
      'answers',
      ended,
      ({ end }) => end.entropy,
      ({ peer }) => peer.entropy,
    ),
    row(
      '−log CCP',
      'ccp',
      'tokens',
      claims,
      ({ ccp }) => ccp,
      ({ peer }) => peer,
    ),
    row(
      '−log CCP',
      'ccp of content words',
      'tokens',
      content,
      ({ ccp }) => ccp,
      ({ peer }) => peer,
    ),
    row(
      '−log CCP',
      "ccp by lm-polygraph's rules",
      'tokens',
      within,
      ({ asPolygraph }) => asPolygraph,
      ({ peer }) => peer,
    ),
    row(
      'CCP',
      '−exp(−ccp)',
      'answers',
      meant,
      ({ flinch }) => -Math.exp(-sum(flinch.ccp)),
      ({ peer }) => peer.ccp,
    ),
    row(
      'TokenSAR',
      'token_sar',
      'answers',
      meant,
      ({ flinch }) => flinch.tokenSar,
      ({ peer }) => peer.token_sar,
    ),
    row(
      'LexicalSimilarity (ROUGE-L)',
      '−mean similarity by words',
      'questions',
      lexical,
      ({ question }) => -questions.get(question)!.lexical,
      ({ rouge_l }) => rouge_l,
    ),
    ...writtenRows(results),
  ];
}

/** Answers at temperature 0 that lm-polygraph wrote itself, as far as they are those that were given. */
function writtenRows(results: Results): Row[] {
  const same = writtenBy(results).filter(({ given, same }) => same === given);
  if (same.length === 0) return [];
  const row = rowsFor('lm-polygraph');
  return [
    row(
      'Perplexity, written by itself',
      'mean of nll, with the end token',
      'answers',
      same,
      ({ ours }) => ours,
      ({ theirs }) => theirs,
    ),
  ];
}

/** How many of its first tokens are those of the given answer. lm-polygraph leaves the last one out of what it returns. */
export function writtenBy({ answers, flinch, polygraph }: Results) {
  return having(polygraph, 'own').map(({ question, own }) => {
    const i = answers.findIndex((answer) => answer.question === question && answer.sample === 0);
    const { tokens, end } = answers[i]!;
    const given = end === null ? tokens.slice(0, -1) : tokens;
    const differs = given.findIndex((token, at) => token !== own.tokens[at]);
    return {
      given: given.length,
      same: differs < 0 && own.tokens.length === given.length ? given.length : Math.max(0, differs),
      ours: flinch[i]?.withEnd?.perplexity ?? mean(flinch[i]?.nll ?? []),
      theirs: own.perplexity,
    };
  });
}
