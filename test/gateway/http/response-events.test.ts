import { describe, expect, it } from 'vitest';
import { ResponseEvents } from '#gateway/http/response-events.js';
import { jsonOf } from '#gateway/http/written-json.js';
import { parse } from '#gateway/requests/generation-request.js';
import { responseSchema } from '#gateway/requests/response-request.js';
import type { GuardEvent } from '#src/index.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

const never = () => {
  throw new Error('not started');
};

const raw = (event: object): GuardEvent => ({
  type: 'upstream.delta',
  at: 0,
  unscored: [],
  chunk: { event, choices: [] },
});

const idPrefix = { item_id: 'theirs', output_index: 0, content_index: 0 };
const OPENING = [
  { type: 'response.created', response: { id: 'resp_theirs', status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'theirs' } },
  { type: 'response.content_part.added', ...idPrefix, part: { type: 'output_text', text: '' } },
];

function events() {
  const request = parse(responseSchema, { model: 'm', input: 'Well?' });
  return new ResponseEvents('resp_ours', request, scriptedAnswer(never));
}

/** As a client gets them. */
const sent = (written: readonly object[]): unknown => JSON.parse(jsonOf(written));

const types = (written: readonly { readonly type: string }[]) => written.map(({ type }) => type);

describe("an upstream's events", () => {
  it('wait until the text before them is there, which a scorer may hold back', () => {
    const response = events();
    for (const event of OPENING) response.push(raw(event));
    const [one, two] = [tokenEvent(0, { text: 'One' }), tokenEvent(1, { text: ' two' })];
    const text = `${one.text}${two.text}`;
    expect(types(response.push(one))).toEqual(['response.output_text.delta']);
    const done = { type: 'response.output_text.done', ...idPrefix, text };
    expect(response.push(raw(done))).toEqual([]);
    expect(response.push(raw({ type: 'response.content_part.done', ...idPrefix }))).toEqual([]);
    expect(types(response.push(two))).toEqual([
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
    ]);
    const last = { id: 'resp_theirs', status: 'completed', output: [{ type: 'message', id: 'theirs' }] };
    expect(response.push(raw({ type: 'response.completed', response: last, x: 1 }))).toEqual([]);
    expect(sent(response.push(doneEvent('stop', 2)))).toMatchObject([
      {
        type: 'response.completed',
        sequence_number: 7,
        x: 1,
        response: { ...last, flinch: { tokens: [{}, {}] } },
      },
    ]);
  });

  it('are made where the guard ends the response before they came', () => {
    const response = events();
    for (const event of OPENING) response.push(raw(event));
    const token = tokenEvent(0, { text: 'One' });
    response.push(token);
    const written = response.push(doneEvent('content_filter', 1));
    expect(sent(written)).toMatchObject([
      { type: 'response.output_text.done', ...idPrefix, text: token.text },
      { type: 'response.content_part.done', ...idPrefix },
      { type: 'response.output_item.done', item: { id: 'theirs', status: 'incomplete' } },
      {
        type: 'response.incomplete',
        response: {
          id: 'resp_theirs',
          status: 'incomplete',
          incomplete_details: { reason: 'content_filter' },
          output: [{ id: 'theirs', content: [{ type: 'output_text', text: token.text }] }],
        },
      },
    ]);
  });
});

describe('the word that another model answers', () => {
  const escalated: GuardEvent = {
    type: 'generation.escalated',
    to: 'large',
    failed: null,
    risk: 0.99,
    guard: {},
  };
  const flinch = { escalations: [{ type: 'generation.escalated', to: 'large', failed: null, risk: 0.99 }] };

  it("goes with the first of an upstream's events, which are not made a second time", () => {
    const response = events();
    expect(response.push(escalated)).toEqual([]);
    expect(sent(response.push(raw(OPENING[0]!)))).toMatchObject([
      { type: 'response.created', sequence_number: 0, response: { id: 'resp_theirs' }, flinch },
    ]);
    expect(types(OPENING.slice(1).flatMap((event) => response.push(raw(event))))).toEqual([
      'response.output_item.added',
      'response.content_part.added',
    ]);
  });

  it('goes with the first event of our own', () => {
    const response = events();
    response.push(escalated);
    const first = sent(response.push(tokenEvent(0, { text: 'One' })));
    expect(first).toMatchObject([{ type: 'response.created', flinch }, {}, {}, {}, { delta: 'One' }]);
  });
});
