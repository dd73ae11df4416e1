import { lastValueFrom, toArray } from 'rxjs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  type Engine,
  encodePrompt,
  modelId,
  type ScoreEvent,
  type Scoring,
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
  /** How many tokens had been sent when the score of a token came. */
  const sentBefore = new Map<number, number>();

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
    scores = events.filter((event) => event.type === 'score.delta');
    let sent = 0;
    for (const event of events) {
      if (event.type === 'token.delta') sent += 1;
      else if (event.type === 'score.delta') sentBefore.set(event.index, sent);
    }
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

  it('gives a doubtful token what a pass of its own gives', async () => {
    const ids = tokens.map(modelId);
    const alone = await scoreResponse(engine, promptIds, ids, {
      ...scoring,
      schedule: { kind: 'windowed', block: 1, window: 64 },
    });
    const pairs = scores.flatMap(({ index, scores: { adversarial } }) =>
      adversarial === undefined ? [] : [[adversarial, alone.tokens[index]!.scores.adversarial!] as const],
    );
    expect(
      largestDifference(
        pairs.map(([lazy]) => lazy),
        pairs.map(([, windowed]) => windowed),
      ),
    ).toBeLessThan(2e-5);
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

  it('never lets a score be more than a block behind', () => {
    for (const [index, sent] of sentBefore) expect(sent - 1 - index).toBeLessThanOrEqual(LAZY.block);
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
