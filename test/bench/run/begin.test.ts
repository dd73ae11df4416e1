import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { begin } from '#bench/run/plan/begin.js';
import type { Plan } from '#bench/run/plan/plan.js';

const plan = (seconds: number): Plan => ({
  ...{
    suite: 'math',
    problems: 10,
    model: 'a-model',
    device: 'cpu',
    stages: [],
    seconds,
    memory: 1e9,
    isMeasured: true,
  },
  wrong: 0.5,
  speed: { promptTokens: 1, responseTokens: 1, lengthKnown: true, written: 1, score: 1 },
  sizes: { sentences: 1, claims: 1, graphClaims: 1, known: { claims: true, graph: true } },
  rollouts: null,
});

/** Begins where somebody types; what was written, or why it did not begin. */
async function begun(typed: string, { seconds = 7200, yes = false, isTTY = true } = {}): Promise<string> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const terminal = { input: Object.assign(input, { isTTY }), output: Object.assign(output, { isTTY }) };
  input.end(typed);
  const { signal } = new AbortController();
  try {
    await begin(plan(seconds), { yes }, signal, terminal);
  } finally {
    output.end();
  }
  return text(output);
}

describe('a run that takes more than an hour', () => {
  it.each(['y\n', 'Yes\n'])('begins after %j', async (typed) => {
    expect(await begun(typed)).toMatch(
      /^plan: 10 problems of math.*This takes about 2\.0 h\. Begin\? \[y\/N\]/s,
    );
  });

  it.each(['n\n', '\n', 'yellow\n'])('does not begin after %j', async (typed) => {
    await expect(begun(typed)).rejects.toThrow('not begun; --yes begins without asking');
  });

  it.each([{ yes: true }, { seconds: 3600 }, { isTTY: false }])(
    'is not asked about with %j',
    async (given) => {
      expect(await begun('n\n', given)).not.toContain('Begin?');
    },
  );
});
