import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Engine, encodePrompt, METHODS } from '#src/index.js';
import { CHECKPOINTS, checkpointFolder, goldenCases } from '../support/golden.js';
import { goldenTests, greedyIds } from '../support/golden-tests.js';

describe.each(CHECKPOINTS)('%s agrees with float64 PyTorch', (name) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await Engine.open(checkpointFolder(name));
  });
  afterAll(async () => {
    await engine.close();
  });

  const cases = goldenCases(name);
  goldenTests(() => engine, cases, METHODS);

  it.each(cases.map((golden, i) => ({ ...golden, i })))(
    'case $i: greedy continuation',
    async ({ messages, promptIds, greedyIds: expected }) => {
      expect(encodePrompt(engine.checkpoint, messages)).toEqual(promptIds);
      expect(await greedyIds(engine, promptIds, expected.length)).toEqual(expected);
    },
  );
});
