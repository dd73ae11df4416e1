import { sum } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { alternativesFor, logprobScores, methodsOf } from '#gateway/upstream/scoring/logprob-scores.js';
import type { UpstreamToken } from '#gateway/upstream/upstream.js';

const METHODS = ['nll', 'margin'] as const;

const token = (fields: Partial<UpstreamToken>): UpstreamToken => ({
  id: null,
  text: 'a',
  logprob: Math.log(0.5),
  topLogprobs: [],
  ...fields,
});

const top = (text: string, probability: number, id: number | null = null) => ({
  id,
  text,
  logprob: Math.log(probability),
});

describe('scores by log-probabilities', () => {
  it('nll is −log p, margin 1 − (p − the largest of the others)', () => {
    const { scores, missing } = logprobScores(
      token({ topLogprobs: [top('a', 0.5), top('b', 0.3), top('c', 0.1)] }),
      METHODS,
    );
    expect(scores.nll).toBeCloseTo(Math.LN2, 12);
    expect(scores.margin).toBeCloseTo(0.8, 12);
    expect(missing).toEqual([]);
  });

  it.each([
    [
      'a token that is not the most probable',
      token({ logprob: Math.log(0.2), topLogprobs: [top('b', 0.6), top('a', 0.2)] }),
      1.4,
    ],
    [
      'one that is not among those told',
      token({ logprob: Math.log(0.1), topLogprobs: [top('b', 0.6), top('c', 0.2)] }),
      1.5,
    ],
    ['one other that is told', token({ logprob: Math.log(0.1), topLogprobs: [top('b', 0.6)] }), 1.5],
    [
      'two tokens of one text, told apart by ids',
      token({ id: 1, topLogprobs: [top('a', 0.5, 1), top('a', 0.3, 2)] }),
      0.8,
    ],
    [
      'two tokens of one text, told apart by probability',
      token({ topLogprobs: [top('a', 0.3), top('a', 0.5)] }),
      0.8,
    ],
    ['ids of the others alone', token({ topLogprobs: [top('a', 0.5, 1), top('b', 0.3, 2)] }), 0.8],
  ])('margin: %s', (_, each, expected) => {
    expect(logprobScores(each, METHODS).scores.margin).toBeCloseTo(expected, 12);
  });

  it.each([
    [['nll', 'entropy'], 20, 5],
    [['nll', 'margin'], 2, 2],
    [[], 0, 0],
  ] as const)(
    '%j: %i alternatives are asked for with a chat, %i with a completion',
    (methods, chat, completion) => {
      expect(alternativesFor(methods, 'chat')).toBe(chat);
      expect(alternativesFor(methods, 'completion')).toBe(completion);
    },
  );

  it('entropy is that of the most probable tokens, 5 at least and 20 at most', () => {
    const told = (count: number) => Array.from({ length: count }, (_, i) => top(`${i}`, 2 ** -(i + 1)));
    const entropy = (count: number) => logprobScores(token({ topLogprobs: told(count) }), ['entropy']);
    const expected = (count: number) => sum(Array.from({ length: count }, (_, i) => (i + 1) * 2 ** -(i + 1)));
    for (const count of [5, 6, 20])
      expect(entropy(count).scores.entropy).toBeCloseTo(expected(count) * Math.LN2, 12);
    expect(entropy(21).scores).toEqual(entropy(20).scores);
    expect(entropy(4)).toEqual({ scores: {}, missing: ['entropy'] });
  });

  // OpenAI, vLLM and SGLang; llama.cpp; others; what no softmax in float32 gives.
  it.each([-9999, -3.4028234663852886e38, -1e30, -104])('%d is a probability of 0', (logprob) => {
    const impossible = ['b', 'c', 'd', 'e'].map((text) => ({ ...top(text, 1), logprob }));
    const scores = (topLogprobs: UpstreamToken['topLogprobs']) =>
      logprobScores(token({ topLogprobs }), ['entropy', 'margin']);
    expect(scores([top('a', 1), ...impossible])).toEqual({ scores: { entropy: 0 }, missing: ['margin'] });
    expect(scores([top('a', 0.5), top('f', 0.3), ...impossible]).scores.margin).toBeCloseTo(0.8, 12);
    expect(scores(impossible.concat(impossible)).missing).toEqual(['entropy', 'margin']);
    const own = token({ logprob, topLogprobs: [top('b', 0.3), top('c', 0.1)] });
    expect(logprobScores(own, METHODS)).toEqual({ scores: {}, missing: METHODS });
  });

  it.each([
    ['no log-probability', token({ logprob: null, topLogprobs: [top('b', 0.3)] }), ['nll', 'margin']],
    ['no alternatives', token({}), ['margin']],
    ['none but itself', token({ topLogprobs: [top('a', 0.5)] }), ['margin']],
  ])('what cannot be computed is missing, not zero: %s', (_, each, missing) => {
    const said = logprobScores(each, METHODS);
    expect(said.missing).toEqual(missing);
    for (const method of missing) expect(said.scores).not.toHaveProperty(method);
  });

  it.each([
    [null, []],
    [0, ['nll']],
    [1, ['nll']],
    [2, ['nll', 'margin']],
    [4, ['nll', 'margin']],
    [5, ['nll', 'entropy', 'margin']],
    [20, ['nll', 'entropy', 'margin']],
  ])('with %s alternatives told: %j', (logprobs, methods) => {
    expect(methodsOf({ logprobs })).toEqual(methods);
  });
});
