import { entropyOf, mean } from './means.js';
import { having, joined, type Results, type Row, rowsFor } from './row.js';

/** Measures that flinch-bench shares with thinkbooster, beside those that it has from lm-polygraph. */
export function thinkboosterRows(results: Results): Row[] {
  const { questions, thinkbooster } = results;
  const row = rowsFor('thinkbooster');
  const scored = joined(results, having(thinkbooster, 'pd_gap'));
  const greedy = scored.filter(({ answer }) => answer.sample === 0);
  const voted = having(thinkbooster, 'votes').map(({ question, votes }) => ({
    share: 1 - questions.get(question)!.selfConsistency,
    samples: votes.length - 1,
    theirs: votes[0]!,
  }));
  return [
    row(
      'PDGap',
      'mean of margin',
      'answers',
      scored,
      ({ flinch }) => mean(flinch.margin),
      ({ peer }) => peer.pd_gap,
    ),
    row(
      'PDGap, temperature 0',
      'mean of margin',
      'answers',
      greedy,
      ({ flinch }) => mean(flinch.margin),
      ({ peer }) => peer.pd_gap,
    ),
    row(
      'DeepConf entropy',
      'mean of entropy',
      'answers',
      scored,
      ({ flinch }) => mean(flinch.entropy),
      ({ peer }) => peer.entropy,
    ),
    row(
      'DeepConf entropy',
      'the same, of the 20 most probable tokens',
      'answers',
      scored,
      ({ flinch }) => mean(flinch.top.map(entropyOf)),
      ({ peer }) => peer.entropy,
    ),
    row(
      'majority vote',
      '1 − self_consistency, the answer itself counted',
      'questions',
      voted,
      ({ share, samples }) => (1 + samples * share) / (1 + samples),
      ({ theirs }) => theirs,
    ),
  ];
}
