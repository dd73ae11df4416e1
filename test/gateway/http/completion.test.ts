import { describe, expect, it } from 'vitest';
import { completion } from '#gateway/api/responses.js';
import { CHAT_FORM } from '#gateway/http/choice-form.js';
import { Completion } from '#gateway/http/completion.js';
import type { GuardEvent } from '#src/index.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { prepared } from '../../support/scripted-model.js';

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
    const whole = new Completion({ ...options, guard: { ...guard, enabled: true } }).whole(events);
    expect(whole.flinch.mismatches).toEqual([mismatch]);
    expect(completion.parse(JSON.parse(JSON.stringify(whole))).flinch.mismatches).toEqual([mismatch]);
  });

  it('has the tokens of another part beside its text', () => {
    const { guard } = prepared(() => {
      throw new Error('not started');
    });
    const options = {
      ...{ form: CHAT_FORM, id: 'c', model: 'm', vocabulary: null },
      ...{ logprobs: true, includeUsage: false, guard },
    };
    const thought = tokenEvent(0, { text: 'Hm', part: 'reasoning' });
    const events: GuardEvent[] = [thought, tokenEvent(1, { text: 'Yes' }), doneEvent('stop', 2)];
    const whole = new Completion(options).whole(events);
    expect(whole.choices[0]).toMatchObject({
      message: { content: 'Yes' },
      logprobs: { content: [{ token: 'Yes' }] },
    });
    const parsed = completion.parse(JSON.parse(JSON.stringify(whole)));
    expect(parsed.flinch.tokens.map(({ part }) => part)).toEqual(['reasoning', undefined]);
    const [chunk] = new Completion(options).chunks(thought);
    expect(chunk).toMatchObject({
      choices: [{ delta: {}, logprobs: null }],
      flinch: { tokens: [{ text: '', part: 'reasoning', part_text: 'Hm' }] },
    });
  });
});
