import type { z } from 'zod';
import { claimCloseness } from '../baselines/graph.js';
import { type Answer, byQuestion } from './answers.js';
import { type Deviation, deviation } from './deviation.js';
import { type FlinchAnswer, type FlinchQuestion, mean } from './flinch-measures.js';
import type { POLYGRAPH, THINKBOOSTER, UQLM } from './peer-scripts.js';

/** One line of the table of agreement. */
export interface Row {
  readonly peer: string;
  /** The peer's name of the measure. */
  readonly measure: string;
  /** What flinch's number is: a formula, where it is not the measure itself. */
  readonly ours: string;
  readonly of: 'tokens' | 'answers' | 'questions' | 'clusters';
  readonly deviation: Deviation;
}

export interface Results {
  readonly answers: readonly Answer[];
  readonly flinch: readonly FlinchAnswer[];
  readonly questions: ReadonlyMap<number, FlinchQuestion>;
  readonly polygraph: readonly z.output<typeof POLYGRAPH>[];
  readonly uqlm: readonly z.output<typeof UQLM>[];
  readonly thinkbooster: readonly z.output<typeof THINKBOOSTER>[];
}

type Having<T, K extends string> = Extract<T, Record<K, unknown>>;

/** Those results that have a field. */
export const having = <T extends object, K extends string>(results: readonly T[], field: K): Having<T, K>[] =>
  results.filter((result): result is Having<T, K> => field in result);

/** The measures that flinch and a peer share. */
export function rowsOf(results: Results): Row[] {
  return [...polygraphRows(results), ...uqlmRows(results), ...thinkboosterRows(results)];
}

function polygraphRows({ answers, flinch, questions, polygraph }: Results): Row[] {
  const theirs = having(polygraph, 'ccp');
  const row = rowOf('lm-polygraph');
  const ended = flinch.flatMap((one, i) =>
    one.withEnd ? [{ ...one, end: one.withEnd, theirs: theirs[i]! }] : [],
  );
  const tokens = flinch.flatMap((one, i) =>
    one.ccp.map((ccp, token) => ({
      ccp,
      functional: one.functional[token]!,
      asPolygraph: one.ccpAsPolygraph[token]!,
      theirs: theirs[i]!.tokens.ccp[token]!,
    })),
  );
  const plain = tokens.filter(({ functional }) => !functional);
  const within = tokens.filter(({ asPolygraph }) => asPolygraph !== null);
  const lexical = having(polygraph, 'rouge_l');
  return [
    row(
      'log-likelihood',
      '−NLL',
      'tokens',
      flinch.flatMap(({ nll }) => nll),
      theirs.flatMap(({ tokens }) => tokens.nll),
    ),
    row(
      'TokenEntropy',
      'entropy',
      'tokens',
      flinch.flatMap(({ entropy }) => entropy),
      theirs.flatMap(({ tokens }) => tokens.entropy),
    ),
    row(
      'MaximumSequenceProbability',
      'sum of NLL',
      'answers',
      flinch.map(({ nll }) => sum(nll)),
      theirs.map(({ sequence }) => sequence),
    ),
    row(
      'Perplexity',
      'mean of NLL',
      'answers',
      flinch.map(({ nll }) => mean(nll)),
      theirs.map(({ perplexity }) => perplexity),
    ),
    row(
      'Perplexity as is',
      'mean of NLL',
      'answers',
      ended.map(({ nll }) => mean(nll)),
      ended.map(({ theirs }) => theirs.with_end.perplexity),
    ),
    row(
      'Perplexity as is',
      'mean of NLL with the end token',
      'answers',
      ended.map(({ end }) => end.perplexity),
      ended.map(({ theirs }) => theirs.with_end.perplexity),
    ),
    row(
      'MeanTokenEntropy',
      'mean of entropy',
      'answers',
      flinch.map(({ entropy }) => mean(entropy)),
      theirs.map(({ entropy }) => entropy),
    ),
    row(
      'MeanTokenEntropy as is',
      'mean of entropy',
      'answers',
      ended.map(({ entropy }) => mean(entropy)),
      ended.map(({ theirs }) => theirs.with_end.entropy),
    ),
    row(
      'MeanTokenEntropy as is',
      'mean of entropy with the end token',
      'answers',
      ended.map(({ end }) => end.entropy),
      ended.map(({ theirs }) => theirs.with_end.entropy),
    ),
    row(
      '−log CCP',
      'ccp',
      'tokens',
      tokens.map(({ ccp }) => ccp),
      tokens.map(({ theirs }) => theirs),
    ),
    row(
      '−log CCP',
      'ccp, no function words',
      'tokens',
      plain.map(({ ccp }) => ccp),
      plain.map(({ theirs }) => theirs),
    ),
    row(
      '−log CCP',
      "ccp by lm-polygraph's rules",
      'tokens',
      within.map(({ asPolygraph }) => asPolygraph!),
      within.map(({ theirs }) => theirs),
    ),
    row(
      'CCP',
      '−exp(−ccp)',
      'answers',
      flinch.map(({ ccp }) => -Math.exp(-sum(ccp))),
      theirs.map(({ ccp }) => ccp),
    ),
    row(
      'TokenSAR',
      'token_sar',
      'answers',
      flinch.map(({ tokenSar }) => tokenSar),
      theirs.map(({ token_sar }) => token_sar),
    ),
    row(
      'LexicalSimilarity (ROUGE-L)',
      '−mean similarity by words',
      'questions',
      lexical.map(({ question }) => -questions.get(question)!.lexical),
      lexical.map(({ rouge_l }) => rouge_l),
    ),
    ...ownRows(answers, flinch, polygraph),
  ];
}

/** Answers that lm-polygraph wrote itself, where they are those that were given. */
function ownRows(
  answers: readonly Answer[],
  flinch: readonly FlinchAnswer[],
  polygraph: Results['polygraph'],
): Row[] {
  const same = having(polygraph, 'own').flatMap(({ question, own }) => {
    const i = answers.findIndex((answer) => answer.question === question && answer.sample === 0);
    const { tokens, end } = answers[i]!;
    const given = end === null ? tokens : [...tokens, end];
    if (given.join() !== own.tokens.join()) return [];
    return [{ ours: flinch[i]!.withEnd?.perplexity ?? mean(flinch[i]!.nll), theirs: own.perplexity }];
  });
  if (same.length === 0) return [];
  const [ours, theirs] = [same.map((one) => one.ours), same.map((one) => one.theirs)];
  return [
    rowOf('lm-polygraph')(
      'Perplexity of what it writes',
      'mean of NLL with the end token',
      'answers',
      ours,
      theirs,
    ),
  ];
}

function uqlmRows({ answers, flinch, questions, uqlm }: Results): Row[] {
  const theirs = having(uqlm, 'probability_margin');
  const row = rowOf('uqlm');
  const samples = having(uqlm, 'match');
  const graphs = having(uqlm, 'graph');
  const greedy = <T>(values: readonly T[]): T[] => values.filter((_, i) => answers[i]!.sample === 0);
  const margins = theirs.map(({ probability_margin }) => probability_margin);
  const ours = flinch.map(({ margin }) => 1 - mean(margin));
  const negentropy = theirs.map(({ mean_token_negentropy }) => mean_token_negentropy);
  const own = byQuestion(answers.map(({ question }, i) => ({ question, nll: flinch[i]!.nll })));
  const closeness = graphs.map(({ closeness }, i) => {
    const { edges } = [...questions.values()][i]!.graph;
    return {
      claims: edges[0]!.length,
      responses: edges.length,
      ours: claimCloseness(edges),
      theirs: closeness,
    };
  });
  return [
    row(
      'sequence_probability',
      'exp(−mean of NLL)',
      'answers',
      flinch.map(({ nll }) => Math.exp(-mean(nll))),
      theirs.map(({ sequence_probability }) => sequence_probability),
    ),
    row(
      'min_probability',
      'exp(−largest NLL)',
      'answers',
      flinch.map(({ nll }) => Math.exp(-Math.max(...nll))),
      theirs.map(({ min_probability }) => min_probability),
    ),
    row('probability_margin, T = 0', '1 − mean of margin', 'answers', greedy(ours), greedy(margins)),
    row('probability_margin', '1 − mean of margin', 'answers', ours, margins),
    row(
      'mean_token_negentropy',
      '1 − mean of entropy / ln 15',
      'answers',
      flinch.map(({ entropy }) => 1 - mean(entropy) / Math.log(15)),
      negentropy,
    ),
    row(
      'mean_token_negentropy',
      'the same of the 15 most probable',
      'answers',
      flinch.map(({ top }) => mean(top.map((one) => 1 - entropyOf(one.slice(0, 15)) / Math.log(15)))),
      negentropy,
    ),
    row(
      'monte_carlo_probability',
      'mean of exp(−mean of NLL)',
      'questions',
      samples.map(({ question }) => mean(own.get(question)!.map(({ nll }) => Math.exp(-mean(nll))))),
      samples.map((one) => one.monte_carlo_probability),
    ),
    row(
      'cosine similarity',
      'cosines of embeddings',
      'questions',
      samples.map(({ question }) => questions.get(question)!.cosine),
      samples.map(({ cosine }) => cosine),
    ),
    row(
      'exact match',
      '1 − self_consistency',
      'questions',
      samples.map(({ question }) => 1 - questions.get(question)!.selfConsistency),
      samples.map(({ match }) => match),
    ),
    row(
      'closeness_centrality',
      'closeness',
      'clusters',
      closeness.flatMap((one) => one.ours),
      closeness.flatMap((one) => one.theirs),
    ),
    row(
      'closeness_centrality',
      'closeness, as networkx norms it',
      'clusters',
      closeness.flatMap(({ claims, responses, ours }) =>
        ours.map((value) => Math.min(1, (value * (responses + 2 * (claims - 1))) / (responses + claims - 1))),
      ),
      closeness.flatMap((one) => one.theirs),
    ),
  ];
}

function thinkboosterRows({ answers, flinch, questions, thinkbooster }: Results): Row[] {
  const theirs = having(thinkbooster, 'pd_gap');
  const row = rowOf('thinkbooster');
  const greedy = <T>(values: readonly T[]): T[] => values.filter((_, i) => answers[i]!.sample === 0);
  const gaps = theirs.map(({ pd_gap }) => pd_gap);
  const ours = flinch.map(({ margin }) => mean(margin));
  const entropies = theirs.map(({ entropy }) => entropy);
  const votes = having(thinkbooster, 'votes');
  return [
    row('PDGap, T = 0', 'mean of margin', 'answers', greedy(ours), greedy(gaps)),
    row('PDGap', 'mean of margin', 'answers', ours, gaps),
    row(
      'DeepConf entropy',
      'mean of entropy',
      'answers',
      flinch.map(({ entropy }) => mean(entropy)),
      entropies,
    ),
    row(
      'DeepConf entropy',
      'the same of the 20 most probable',
      'answers',
      flinch.map(({ top }) => mean(top.map(entropyOf))),
      entropies,
    ),
    row(
      'majority vote',
      '(1 + samples · (1 − self_consistency)) / (1 + samples)',
      'questions',
      votes.map(
        ({ question, votes }) =>
          (1 + (votes.length - 1) * (1 - questions.get(question)!.selfConsistency)) / votes.length,
      ),
      votes.map(({ votes }) => votes[0]!),
    ),
  ];
}

const rowOf =
  (peer: string) =>
  (
    measure: string,
    ours: string,
    of: Row['of'],
    numbers: readonly number[],
    theirs: readonly number[],
  ): Row => ({
    peer,
    measure,
    ours,
    of,
    deviation: deviation(numbers, theirs),
  });

/** Of probabilities that are made to sum to 1. */
function entropyOf(logprobs: readonly number[]): number {
  const total = Math.log(sum(logprobs.map(Math.exp)));
  return -sum(logprobs.map((value) => (value - total) * Math.exp(value - total)));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
