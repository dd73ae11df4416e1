import { claimCloseness } from '#bench/baselines/graph.js';
import { byQuestion } from './answers.js';
import { entropyOf, mean } from './means.js';
import { having, joined, type Results, type Row, rowsFor } from './row.js';

/** uqlm's choice of `top_k_logprobs`. */
const TOP = 15;

/** Measures that flinch-bench shares with uqlm. */
export function uqlmRows(results: Results): Row[] {
  const { answers, flinch, questions, uqlm } = results;
  const row = rowsFor('uqlm');
  const scored = joined(results, having(uqlm, 'probability_margin'));
  const greedy = scored.filter(({ answer }) => answer.sample === 0);
  const nll = byQuestion(answers.map(({ question }, i) => ({ question, nll: flinch[i]?.nll ?? [] })));
  const asked = having(uqlm, 'match').map((peer) => ({
    peer,
    nll: nll.get(peer.question)!.map((one) => one.nll),
    flinch: questions.get(peer.question)!,
  }));
  const graphs = [...questions.values()].map(({ graph }) => graph.edges);
  const clusters = having(uqlm, 'graph').flatMap(({ graph, closeness }) => {
    const edges = graphs[graph]!;
    const [responses, claims] = [edges.length, edges[0]!.length];
    return claimCloseness(edges).map((ours, i) => ({ ours, responses, claims, theirs: closeness[i]! }));
  });
  return [
    row(
      'sequence_probability',
      'exp(−mean of nll)',
      'answers',
      scored,
      ({ flinch }) => Math.exp(-mean(flinch.nll)),
      ({ peer }) => peer.sequence_probability,
    ),
    row(
      'min_probability',
      'exp(−largest nll)',
      'answers',
      scored,
      ({ flinch }) => Math.exp(-Math.max(...flinch.nll)),
      ({ peer }) => peer.min_probability,
    ),
    row(
      'probability_margin',
      '1 − mean of margin',
      'answers',
      scored,
      ({ flinch }) => 1 - mean(flinch.margin),
      ({ peer }) => peer.probability_margin,
    ),
    row(
      'probability_margin, temperature 0',
      '1 − mean of margin',
      'answers',
      greedy,
      ({ flinch }) => 1 - mean(flinch.margin),
      ({ peer }) => peer.probability_margin,
    ),
    row(
      'mean_token_negentropy',
      '1 − mean of entropy / ln 15',
      'answers',
      scored,
      ({ flinch }) => 1 - mean(flinch.entropy) / Math.log(TOP),
      ({ peer }) => peer.mean_token_negentropy,
    ),
    row(
      'mean_token_negentropy',
      'the same, of the 15 most probable tokens',
      'answers',
      scored,
      ({ flinch }) => 1 - mean(flinch.top.map((one) => entropyOf(one.slice(0, TOP)))) / Math.log(TOP),
      ({ peer }) => peer.mean_token_negentropy,
    ),
    row(
      'monte_carlo_probability',
      'mean of exp(−mean of nll)',
      'questions',
      asked,
      ({ nll }) => mean(nll.map((one) => Math.exp(-mean(one)))),
      ({ peer }) => peer.monte_carlo_probability,
    ),
    row(
      'cosine similarity',
      'cosines of embeddings',
      'questions',
      asked,
      ({ flinch }) => flinch.cosine,
      ({ peer }) => peer.cosine,
    ),
    row(
      'exact match',
      '1 − self_consistency',
      'questions',
      asked,
      ({ flinch }) => 1 - flinch.selfConsistency,
      ({ peer }) => peer.match,
    ),
    row(
      'closeness_centrality',
      'closeness',
      'clusters',
      clusters,
      ({ ours }) => ours,
      ({ theirs }) => theirs,
    ),
    row(
      'closeness_centrality',
      'closeness, as networkx scales it',
      'clusters',
      clusters,
      ({ ours, responses, claims }) =>
        Math.min(1, (ours * (responses + 2 * (claims - 1))) / (responses + claims - 1)),
      ({ theirs }) => theirs,
    ),
  ];
}
