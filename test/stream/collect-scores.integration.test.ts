import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { afterAll, describe, expect, it } from 'vitest';
import { type CollectedAnswer, collectScores, DEFAULT_SCORING, Engine } from '#src/index.js';
import { largestDifference, REASONER } from '../support/golden.js';
import { endless, greedy } from '../support/requests.js';

const engine = await Engine.open(REASONER, { maxStreams: 3 });
afterAll(() => engine.close());

const requests = [1, 2, 3, 4, 5].map((seed) =>
  greedy(engine, { maxTokens: 30, sampling: { temperature: 1, topK: 0, topP: 1, seed } }),
);

const collected = async (concurrency: number): Promise<CollectedAnswer[]> => {
  const answers = await lastValueFrom(
    collectScores(engine, requests, DEFAULT_SCORING, { concurrency }).pipe(toArray()),
  );
  return answers.toSorted((a, b) => a.request - b.request);
};

describe('collectScores', () => {
  it('gives every answer all of its scores and steps, the same alone and among others', async () => {
    const [alone, together] = [await collected(1), await collected(3)];
    expect(alone.map(({ request }) => request)).toEqual([0, 1, 2, 3, 4]);
    for (const [i, { tokens, scores, steps, done }] of together.entries()) {
      expect(done.usage.completionTokens).toBe(tokens.length);
      expect(scores.map(({ index }) => index)).toEqual(tokens.map(({ index }) => index));
      expect(steps.map(({ from }) => from)).toEqual([0, ...steps.slice(0, -1).map(({ to }) => to)]);
      expect(steps.at(-1)?.to).toBe(tokens.length);
      expect(tokens.map(({ id }) => id)).toEqual(alone[i]!.tokens.map(({ id }) => id));
      const of = ({ scores: all }: Pick<CollectedAnswer, 'scores'>) =>
        all.map((event) => event.scores.adversarial!);
      expect(largestDifference(of({ scores }), of(alone[i]!))).toBeLessThan(1e-5);
    }
  });

  it('scores each step alone, as a guard does: no pass reaches over where one begins', async () => {
    const { tokens, scores, steps } = (await collected(3))[0]!;
    const second = steps[1]!;
    expect(second.from % 8).not.toBe(0); // else blocks would end there anyhow
    // The same answer, ended after its first step, has the same scores.
    const request = { ...requests[0]!, maxTokens: second.from };
    const first = await firstValueFrom(collectScores(engine, [request], DEFAULT_SCORING));
    expect(first.tokens.map(({ id }) => id)).toEqual(tokens.slice(0, second.from).map(({ id }) => id));
    const of = (all: CollectedAnswer['scores']) => all.map((event) => event.scores.adversarial!);
    expect(largestDifference(of(first.scores), of(scores.slice(0, second.from)))).toBeLessThan(1e-6);
  });

  it('lets answers wait where the engine has no room for all', async () => {
    expect(await collected(5)).toHaveLength(5);
  });

  it('ends with the error of one that can never be written', async () => {
    const long = greedy(engine, { maxTokens: 10_000 });
    await expect(lastValueFrom(collectScores(engine, [long], DEFAULT_SCORING))).rejects.toThrow('context');
  });

  it('cancels what is under way when its reader leaves', async () => {
    const slow = [requests[0]!, endless(engine), endless(engine)];
    await firstValueFrom(collectScores(engine, slow, DEFAULT_SCORING).pipe(take(1)));
    await expect.poll(() => [engine.status().streams, engine.memory.used]).toEqual([0, 0]);
  });
});
