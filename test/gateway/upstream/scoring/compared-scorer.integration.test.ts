import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { comparedScorer } from '#gateway/upstream/scoring/compared-scorer.js';
import { DEFAULT_SCORING, Engine, encodePrompt } from '#src/index.js';
import { SequenceScorer, scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { useFolder } from '../../../support/cli.js';
import { REASONER } from '../../../support/golden.js';

const folder = useFolder();
let engine: Engine;
beforeAll(async () => {
  vi.stubEnv('XDG_CACHE_HOME', folder.path('cache'));
  // Passes of rounded products tell no probabilities, unless these are asked for.
  engine = await Engine.open(REASONER, { precision: 'int8' });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await engine.close();
});

it.each([{ methods: ['adversarial'] }, { methods: ['adversarial', 'nll'] }] as const)(
  'compares log-probabilities of its own with those of the server: $methods',
  async ({ methods }) => {
    const { checkpoint } = engine;
    const promptIds = encodePrompt(checkpoint, [{ role: 'user', content: 'What is 12 + 30?' }]);
    const scoring = { ...DEFAULT_SCORING, methods };
    const sequence = await SequenceScorer.open(engine, promptIds, scoring);
    const compared: (readonly [number, number | null])[] = [];
    const agreement = { compare: (own: number, sent: number | null) => compared.push([own, sent]) };
    const scorer = comparedScorer(sequence, agreement as never, methods);
    try {
      const ids = checkpoint.tokenizer.encode('12 + 30 = 42.');
      await scorer.push(ids.map((id) => ({ id, logprob: -5 })));
      await scorer.finish();
      const { tokens } = await scoreResponse(engine, promptIds, ids, {
        ...DEFAULT_SCORING,
        methods: ['nll'],
      });
      expect(compared).toEqual(tokens.map(({ logprob }) => [expect.closeTo(logprob, 4), -5]));
    } finally {
      scorer.close();
    }
  },
);
