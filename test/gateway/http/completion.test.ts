import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CHAT_FORM, TEXT_FORM } from '#gateway/http/choice-form.js';
import { Completion } from '#gateway/http/completion.js';
import { WholeCompletion, type WholeOptions } from '#gateway/http/whole-completion.js';
import type { GuardEvent } from '#src/index.js';
import { completion } from '#tools/api/responses.js';
import { doneEvent, scoreEvent, tokenEvent } from '../../support/events.js';
import { prepared } from '../../support/scripted-model.js';

function wholeOf(options: WholeOptions, events: readonly GuardEvent[]): unknown {
  const whole = new WholeCompletion(options);
  for (const event of events) whole.add(event);
  return JSON.parse(whole.json().join(''));
}

describe('a whole completion', () => {
  it('says that the scorer does not agree with the server', () => {
    const { guard } = prepared(() => {
      throw new Error('not started');
    });
    const options = {
      form: CHAT_FORM,
      id: 'c',
      model: 'm',
      vocabulary: null,
      logprobs: false,
      includeUsage: false,
    };
    const mismatch = { type: 'scorer.mismatch', tokens: 20, difference: 1.5, tolerance: 0.2 } as const;
    const events: GuardEvent[] = [tokenEvent(0), mismatch, doneEvent('stop', 1)];
    const whole = wholeOf({ ...options, guard: { ...guard, enabled: true } }, events);
    expect(completion.parse(whole).flinch.mismatches).toEqual([mismatch]);
  });

  it('has its tokens in their order, and their scores in whatever order they come', () => {
    const { guard } = prepared(() => {
      throw new Error('not started');
    });
    const whole = new WholeCompletion({
      form: CHAT_FORM,
      id: 'c',
      model: 'm',
      vocabulary: null,
      logprobs: false,
      guard: { ...guard, enabled: true },
    });
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
    const { guard } = prepared(() => {
      throw new Error('not started');
    });
    const options = {
      form: CHAT_FORM,
      id: 'c',
      model: 'm',
      vocabulary: null,
      logprobs: true,
      includeUsage: false,
      guard,
    };
    const thought = tokenEvent(0, { text: 'Hm', part: 'reasoning' });
    const events: GuardEvent[] = [thought, tokenEvent(1, { text: 'Yes' }), doneEvent('stop', 2)];
    const whole = completion.parse(wholeOf(options, events));
    expect(whole.choices[0]).toMatchObject({
      message: { content: 'Yes' },
      logprobs: { content: [{ token: 'Yes' }] },
    });
    expect(whole.flinch.tokens.map(({ part }) => part)).toEqual(['reasoning', undefined]);
    const [chunk] = new Completion(options).chunks(thought);
    expect(chunk).toMatchObject({
      choices: [{ delta: {}, logprobs: null }],
      flinch: { tokens: [{ text: '', part: 'reasoning', part_text: 'Hm' }] },
    });
  });
});

describe('the chunks of a completion as JSON', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const awkward = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constant('"logprobs":null,"finish_reason":null}]'),
  );
  const event = fc.oneof(
    fc.record({ type: fc.constant('token' as const), text: awkward, part: fc.boolean() }),
    fc.record({ type: fc.constant('score' as const), score: fc.double(), rated: fc.boolean() }),
    fc.record({ type: fc.constant('beside' as const), field: awkward }),
  );

  it.each([
    ['chats', CHAT_FORM],
    ['completions', TEXT_FORM],
  ])('are those of %s', (_, form) => {
    const { guard } = prepared(() => {
      throw new Error('not started');
    });
    vi.useFakeTimers({ now: 0, toFake: ['Date'] }); // both say when they were made
    const property = fc.property(
      fc.array(event, { maxLength: 12 }),
      fc.record({ scoredAtOnce: fc.boolean(), includeUsage: fc.boolean(), logprobs: fc.boolean() }),
      awkward,
      (said, asked, id) => {
        const options = { ...asked, form, id, model: 'm', vocabulary: null, guard };
        const [told, written] = [new Completion(options), new Completion(options)];
        let index = -1;
        for (const each of said) {
          let next: GuardEvent;
          if (each.type === 'token') {
            index += 1;
            next = tokenEvent(index, { text: each.text, ...(each.part && { part: 'reasoning' }) });
          } else if (each.type === 'score') {
            next = scoreEvent(index, {
              scores: { nll: each.score },
              ...(each.rated && { risk: { nll: 0.5 } }),
            });
          } else {
            next = { type: 'upstream.delta', at: index + 1, chunk: { other: each.field }, unscored: [] };
          }
          expect(written.json(next)).toEqual(told.chunks(next).map((chunk) => JSON.stringify(chunk)));
        }
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
});
