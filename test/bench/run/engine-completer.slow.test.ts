import { expect, it } from 'vitest';
import { engineCompleter } from '#bench/run/writer/engine-responses.js';
import { suites } from '#bench/suites/suites.js';
import { sharedReasoner } from '../../support/shared-engines.js';

it('reads once what completions of a response have in common', async () => {
  const engine = await sharedReasoner();
  const [problem] = await suites.tasks.load({ folder: null, subsets: ['counting'], seed: 3, count: 1 });
  const generations: Awaited<ReturnType<typeof engine.generate>>[] = [];
  const watched = new Proxy(engine, {
    get: (target, name) => {
      if (name !== 'generate') return Reflect.get(target, name, target);
      return async (...args: Parameters<typeof engine.generate>) => {
        const generation = await target.generate(...args);
        generations.push(generation);
        return generation;
      };
    },
  });
  const completer = engineCompleter({ engine: watched, suite: suites.tasks }, null);
  const { signal } = new AbortController();
  const sampling = { temperature: 1, topP: 1, seed: 1 };
  for (const text of ['', '', 'white 1.\n']) {
    const beginning = { text, maxTokens: 4 };
    const completed = await completer.complete({ problem: problem!, beginning, ...sampling }, signal);
    expect(completed).toMatchObject({ tokens: 4, finish: 'length' });
  }
  const [first, second, third] = generations.map(({ cachedTokens }) => cachedTokens);
  expect(first).toBe(0);
  expect(second).toBeGreaterThanOrEqual(32);
  expect(third).toBeGreaterThanOrEqual(second!);
});
