import { expect, it } from 'vitest';
import { verbatimChunks, wholeVerbatim } from '#gateway/http/verbatim-chunks.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

const { guard } = scriptedAnswer(() => {
  throw new Error('not started');
});
const options = { id: 'c', model: 'm', guard, includeUsage: true };
const chunk = { choices: [{ index: 0, delta: { content: 'Ulm' } }], flinch: { verdict: { flagged: false } } };
const event = { type: 'upstream.delta', at: 0, chunk, unscored: [] } as const;

it("an upstream's own verdict is not passed on as one of flinch", () => {
  const encoding = verbatimChunks(options, 'place');
  const streamed = [...encoding.event(event, 0), ...encoding.event(event, 1)];
  for (const text of [...streamed, ...wholeVerbatim(options).event(event, 0)]) {
    expect(text).toContain('Ulm');
    expect(text).not.toContain('verdict');
  }
});
