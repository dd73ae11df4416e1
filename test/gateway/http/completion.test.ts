import { describe, expect, it } from 'vitest';
import { CHAT_FORM } from '#gateway/http/choice-form.js';
import { Completion } from '#gateway/http/completion.js';
import { WholeCompletion, type WholeOptions } from '#gateway/http/whole-completion.js';
import type { GuardEvent } from '#src/index.js';
import { completion } from '#tools/api/openapi-responses.js';
import { doneEvent, scoreEvent, tokenEvent } from '../../support/events.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

const { guard } = scriptedAnswer(() => {
  throw new Error('not started');
});
const options = {
  form: CHAT_FORM,
  id: 'c',
  model: 'm',
  vocabulary: null,
  logprobs: false,
  includeUsage: false,
  guard: { ...guard, enabled: true },
};

function wholeOf(options: WholeOptions, events: readonly GuardEvent[]): unknown {
  const whole = new WholeCompletion(options);
  for (const event of events) whole.add(event);
  return JSON.parse(whole.json().join(''));
}

describe('a whole completion', () => {
  it('says that the scorer does not agree with the server', () => {
    const mismatch = { type: 'scorer.mismatch', tokens: 20, difference: 1.5, tolerance: 0.2 } as const;
    const events: GuardEvent[] = [tokenEvent(0), mismatch, doneEvent('stop', 1)];
    const whole = wholeOf(options, events);
    expect(completion.parse(whole).flinch.mismatches).toEqual([mismatch]);
  });

  it('has its tokens in their order, and their scores in whatever order they come', () => {
    const whole = new WholeCompletion(options);
    const indices = Array.from({ length: 600 }, (_, i) => i);
    for (const index of indices) whole.add(tokenEvent(index));
    // One never comes.
    for (const index of indices.toReversed())
      if (index !== 5) whole.add(scoreEvent(index, { scores: { nll: 1 } }));
    whole.add(doneEvent('stop', 600));
    const written = whole.json().join('');
    const { flinch } = completion.parse(JSON.parse(written));
    expect(flinch.tokens.map(({ index }) => index)).toEqual(indices);
    expect(flinch.tokens.flatMap(({ index, scores }) => (scores ? [] : [index]))).toEqual([5]);
    expect(whole.json().join('')).toBe(written);
  });

  it('has the tokens of another part beside its text', () => {
    const thought = tokenEvent(0, { text: 'Hm', part: 'reasoning' });
    const events: GuardEvent[] = [thought, tokenEvent(1, { text: 'Yes' }), doneEvent('stop', 2)];
    const asked = { ...options, logprobs: true, guard };
    const whole = completion.parse(wholeOf(asked, events));
    expect(whole.choices[0]).toMatchObject({
      message: { content: 'Yes' },
      logprobs: { content: [{ token: 'Yes' }] },
    });
    expect(whole.flinch.tokens.map(({ part }) => part)).toEqual(['reasoning', undefined]);
    const [chunk] = new Completion(asked).chunks(thought);
    expect(chunk).toMatchObject({
      choices: [{ delta: {}, logprobs: null }],
      flinch: { tokens: [{ text: '', part: 'reasoning', part_text: 'Hm' }] },
    });
  });
});
