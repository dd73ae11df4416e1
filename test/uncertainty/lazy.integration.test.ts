import { lastValueFrom, toArray } from 'rxjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  type Engine,
  encodePrompt,
  modelId,
  type ScoreEvent,
  type Scoring,
  SequenceScorer,
  scoredGeneration,
  scoreResponse,
  type TokenEvent,
} from '#src/index.js';
import { largestDifference } from '../support/golden.js';
import { LONG_QUESTION } from '../support/requests.js';
import { sharedReasoner } from '../support/shared-engines.js';

const LAZY = { kind: 'lazy', block: 8, window: 64, epsilon: 0.01 } as const;
const scoring: Scoring = { ...DEFAULT_SCORING, schedule: LAZY };

describe('the lazy schedule', () => {
  let engine: Engine;
  let promptIds: readonly number[];
  let tokens: TokenEvent[];
  let scores: ScoreEvent[];

  beforeAll(async () => {
    engine = await sharedReasoner();
    promptIds = encodePrompt(engine.checkpoint, [{ role: 'user', content: LONG_QUESTION }]);
    const request = {
      promptIds,
      maxTokens: 80,
      endIds: [],
      stop: [],
      topLogprobs: 0,
      sampling: { temperature: 1, topK: 0, topP: 1, seed: 3 },
    };
    const events = await lastValueFrom(scoredGeneration(engine, request, scoring).pipe(toArray()));
    tokens = events.filter((event) => event.type === 'token.delta');
    scores = events.filter((event): event is ScoreEvent => event.type === 'score.delta' && !event.pending);
  });

  const doubtful = ({ logprob }: TokenEvent) => 1 - Math.exp(logprob!) > LAZY.epsilon;

  it('attacks the doubtful tokens, and marks the others as skipped', () => {
    expect(scores.map(({ index }) => index)).toEqual(tokens.map(({ index }) => index));
    const attacked = tokens.filter(doubtful);
    expect(attacked.length).toBeGreaterThan(5);
    expect(attacked.length).toBeLessThan(0.8 * tokens.length);
    for (const [i, { scores: values, skipped, rival }] of scores.entries()) {
      const expected = doubtful(tokens[i]!);
      expect(skipped).toEqual(expected ? [] : ['adversarial']);
      expect('adversarial' in values).toBe(expected);
      expect(rival === null).toBe(!expected);
      expect(values.nll).toBeCloseTo(-tokens[i]!.logprob!, 4);
    }
  });

  it('attacks the doubtful tokens of a block together, over the window before the last of them', async () => {
    const ids = tokens.map(modelId);
    const sequence = await engine.openSequence({ window: LAZY.window, scored: LAZY.block });
    let newIds = [...promptIds, ...ids];
    for (let first = 0; first < ids.length; first += LAZY.block) {
      const attacked = tokens.slice(first, first + LAZY.block).map(doubtful);
      const end = attacked.lastIndexOf(true) + 1;
      if (end === 0) continue;
      const from = promptIds.length + first;
      const to = from + end;
      const start = Math.max(0, to - 1 - LAZY.window);
      const adversary = {
        alpha: DEFAULT_SCORING.alpha,
        form: 'perturb',
        attacked: attacked.slice(0, end),
      } as const;
      const pass = await sequence.pass({ newIds, start, from, to, adversary });
      newIds = [];
      const falls = attacked.flatMap((is, i) => (is ? [pass.tokens[i]!.adversary!.fall] : []));
      const given = scores
        .slice(first, first + LAZY.block)
        .flatMap((event) => event.scores.adversarial ?? []);
      expect(largestDifference(given, falls)).toBeLessThan(2e-5);
    }
    sequence.release();
  });

  it('runs no pass for a block without a doubtful token, if the writer knows its probabilities', async () => {
    const scorer = await SequenceScorer.open(engine, promptIds, scoring);
    const known = { logprob: -0.001, statistics: { entropy: 0.008, margin: 0.002 } };
    const ids = tokens.map(modelId);
    const certain = await scorer.push(ids.slice(0, 8).map((id) => ({ id, ...known })));
    expect(certain).toHaveLength(8);
    expect(certain[3]).toMatchObject({ logprob: -0.001, scores: { nll: 0.001, ...known.statistics } });
    expect(certain.every(({ skipped }) => skipped.includes('adversarial'))).toBe(true);
    expect(scorer.positions).toBe(0);
    const [first, ...more] = ids.slice(8, 16);
    const next = await scorer.push([
      { id: first!, ...known, logprob: -1 },
      ...more.map((id) => ({ id, ...known })),
    ]);
    expect(next.map(({ skipped }) => skipped.length)).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
    expect(scorer.positions).toBe(LAZY.window);
    scorer.close();
  });

  it('gives the finished text the same, without being told any probability', async () => {
    const finished = await scoreResponse(engine, promptIds, tokens.map(modelId), scoring);
    expect(finished.tokens.map(({ skipped }) => skipped)).toEqual(scores.map(({ skipped }) => skipped));
    expect(
      largestDifference(
        finished.tokens.map((token) => token.scores.adversarial ?? 0),
        scores.map((event) => event.scores.adversarial ?? 0),
      ),
    ).toBeLessThan(2e-5);
  });

  it('skips nothing at epsilon 0 but certain tokens, and computes what needs no adversary all the same', async () => {
    const ids = tokens.map(modelId).slice(0, 20);
    const all = await scoreResponse(engine, promptIds, ids, {
      ...scoring,
      schedule: { ...LAZY, epsilon: 0 },
    });
    expect(all.tokens.filter(({ skipped, logprob }) => skipped.length > 0 && logprob !== 0)).toEqual([]);
    const plain = await scoreResponse(engine, promptIds, ids, { ...scoring, methods: ['nll', 'margin'] });
    expect(plain.tokens.every(({ skipped }) => skipped.length === 0)).toBe(true);
  });
});
