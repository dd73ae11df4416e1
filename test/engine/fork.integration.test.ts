import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DEFAULT_SCORING,
  Engine,
  type GeneratedToken,
  type Generation,
  type GenerationEnd,
  METHODS,
  type Scoring,
  SequenceScorer,
  scoreResponse,
  type TokenScore,
} from '#src/index.js';
import { REASONER } from '../support/golden.js';
import { kill } from '../support/process.js';
import { endless, greedy } from '../support/requests.js';

let engine: Engine;
beforeAll(async () => {
  engine = await Engine.open(REASONER);
});
afterAll(async () => {
  await engine.close();
});

const GREEDY = { temperature: 0, topK: 0, topP: 1, seed: 0 };

async function read(generation: Generation, count = Number.POSITIVE_INFINITY) {
  const tokens: GeneratedToken[] = [];
  let end: GenerationEnd | null = null;
  while (tokens.length < count && !end) {
    const item = await generation.next();
    if (item.type === 'end') end = item;
    else tokens.push(item);
  }
  return { tokens, end };
}

describe('Generation.fork', () => {
  it.each([0, 1, 7, 30])('writes the same again from token %i', async (keep) => {
    const whole = await engine.generate(greedy(engine, { forks: 2 }));
    const { tokens, end } = await read(whole);
    const fork = await whole.fork({ keep, sampling: GREEDY });
    const again = await read(fork);
    expect(again.tokens.map(({ id, index, text }) => ({ id, index, text }))).toEqual(
      tokens.slice(keep).map(({ id, index, text }) => ({ id, index, text })),
    );
    expect(again.end).toEqual(end);
    whole.cancel();
    fork.cancel();
    expect(engine.status().streams).toBe(0);
  });

  it('leaves the response that it comes from as it was', async () => {
    const { tokens } = await read(await engine.generate(greedy(engine)));
    const whole = await engine.generate(greedy(engine, { forks: 1 }));
    const first = await read(whole, 10);
    const fork = await whole.fork({ keep: 5, sampling: { ...GREEDY, temperature: 1.5, seed: 3 } });
    await read(fork, 10);
    const rest = await read(whole);
    expect([...first.tokens, ...rest.tokens].map(({ id }) => id)).toEqual(tokens.map(({ id }) => id));
    whole.cancel();
    fork.cancel();
  });

  it('can itself be forked, after the one that it comes from is gone', async () => {
    const whole = await engine.generate(greedy(engine, { forks: 1 }));
    const { tokens } = await read(whole);
    const fork = await whole.fork({ keep: 10, sampling: GREEDY });
    await read(fork, 10);
    whole.cancel();
    const second = await fork.fork({ keep: 15, sampling: GREEDY });
    expect((await read(second)).tokens.map(({ id }) => id)).toEqual(tokens.slice(15).map(({ id }) => id));
    fork.cancel();
    second.cancel();
  });

  it('keeps to the length that was asked for', async () => {
    const whole = await engine.generate({ ...endless(engine, 30), forks: 2 });
    await read(whole);
    const fork = await whole.fork({ keep: 20, sampling: GREEDY });
    expect(await read(fork)).toMatchObject({ tokens: { length: 10 }, end: { reason: 'length', tokens: 30 } });
    await expect(whole.fork({ keep: 31, sampling: GREEDY })).rejects.toThrow('keep: 31 of 30 tokens');
    await expect(whole.fork({ keep: 30, sampling: GREEDY })).rejects.toThrow('leaves none to write');
    whole.cancel();
    fork.cancel();
  });

  it('stops at a stop string that begins in what stays', async () => {
    const keep = 12;
    const plain = await engine.generate(greedy(engine, { forks: 1 }));
    const { tokens } = await read(plain);
    const text = tokens.map((token) => token.text).join('');
    // Another continuation than the greedy one, and a stop string that spans its beginning.
    for (let seed = 1; ; seed++) {
      const sampling = { ...GREEDY, temperature: 2, seed };
      const other = await plain.fork({ keep, sampling });
      const [next] = (await read(other, 1)).tokens;
      other.cancel();
      const stop = `${tokens[keep - 1]!.text.at(-1)}${next?.text[0]}`;
      if (!next?.text || text.includes(stop)) continue;
      const whole = await engine.generate(greedy(engine, { forks: 1, stop: [stop] }));
      await read(whole);
      const fork = await whole.fork({ keep, sampling });
      expect(await read(fork)).toEqual({ tokens: [], end: { type: 'end', reason: 'stop', tokens: keep } });
      for (const generation of [plain, whole, fork]) generation.cancel();
      return;
    }
  });

  it('needs room to have been set aside', async () => {
    const whole = await engine.generate(greedy(engine));
    await expect(whole.fork({ keep: 0, sampling: GREEDY })).rejects.toThrow(
      'forks: memory is set aside for 0',
    );
    whole.cancel();
    const before = engine.memory.used;
    const one = await engine.generate(greedy(engine));
    const alone = engine.memory.used - before;
    one.cancel();
    const four = await engine.generate(greedy(engine, { forks: 3 }));
    expect(engine.memory.used - before).toBeGreaterThan(alone);
    four.cancel();
    expect(engine.memory.used).toBe(before);
  });

  it('fails when the process that held the text has died', async () => {
    const whole = await engine.generate(greedy(engine, { forks: 1 }));
    await read(whole);
    kill(engine.status().decode.pid);
    await expect(
      (async () => {
        for (;;) await (await whole.fork({ keep: 3, sampling: GREEDY })).next();
      })(),
    ).rejects.toMatchObject({ name: 'EngineError' });
    whole.cancel();
    await engine.start();
    expect(engine.status().streams).toBe(0);
  });
});

describe('SequenceScorer.fork', () => {
  const windowed: Scoring = { ...DEFAULT_SCORING, methods: METHODS };

  it.each([
    ['windowed', windowed],
    ['windowed, derivative', { ...windowed, form: 'derivative' } as const],
  ])('scores what follows as in the text that it becomes: %s', async (_, scoring) => {
    const { promptIds } = greedy(engine);
    const [first, second] = await Promise.all([answer(1), answer(2)]);
    const scorer = await SequenceScorer.open(engine, promptIds, scoring, 512, 2);
    await scorer.push(first);
    for (const keep of [0, 5, 8, 21, first.length]) {
      const fork = await scorer.fork(keep);
      const rest = second.slice(0, 12).map(({ id }) => ({ id }));
      const scores = [...(await fork.push(rest)), ...(await fork.finish())];
      fork.close();
      const ids = [...first.slice(0, keep), ...rest].map(({ id }) => id);
      const { tokens } = await scoreResponse(engine, promptIds, ids, scoring);
      const from = scores[0]!.index;
      expect(from).toBeLessThanOrEqual(keep);
      expect(scores.map(told)).toEqual(tokens.slice(from).map(near));
    }
    scorer.close();
  });

  const BY_EIGHT: Scoring = {
    ...DEFAULT_SCORING,
    schedule: { kind: 'windowed', block: 8, window: 64 },
  };

  it('scores anew what shared a pass with tokens that are gone, and nothing else', async () => {
    const { promptIds } = greedy(engine);
    const tokens = await answer(1);
    const scorer = await SequenceScorer.open(engine, promptIds, BY_EIGHT, 512, 1);
    await scorer.push(tokens.slice(0, 24));
    for (const [keep, from] of [
      [8, 8],
      [13, 8],
      [16, 16],
      [23, 16],
    ] as const) {
      const fork = await scorer.fork(keep);
      const scores = [...(await fork.push(tokens.slice(30, 31))), ...(await fork.finish())];
      expect(scores[0]?.index).toBe(from);
      fork.close();
    }
    scorer.close();
  });

  async function answer(seed: number) {
    const { tokens } = await read(
      await engine.generate({ ...endless(engine, 32), sampling: { ...GREEDY, temperature: 1, seed } }),
    );
    return tokens.map(({ id }) => ({ id }));
  }

  const told = ({ index, id, scores, skipped }: TokenScore) => ({ index, id, scores, skipped });

  /** Keys and values may come of other runs, and differ in their rounding. */
  const near = (token: TokenScore) => ({
    ...told(token),
    scores: Object.fromEntries(
      Object.entries(token.scores).map(([name, value]) => [name, expect.closeTo(value, 4)]),
    ),
  });
});
