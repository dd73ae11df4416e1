import { describe, expect, it } from 'vitest';
import { knownFields } from '#gateway/upstream/servers/known-fields.js';

const SECRET = 'XYZZY';
const known = (chunk: Readonly<Record<string, unknown>>) =>
  knownFields({ type: 'upstream.delta', at: 0, chunk, unscored: [] }).chunk;
const ofEvent = (event: object) => known({ event, choices: [] }).event;

const part = { type: 'output_text', text: 'so', annotations: [], logprobs: [] };
const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };

describe('the fields of an answer that are known', () => {
  it.each([
    { note: SECRET, choices: [] },
    { choices: [{ index: 0, message: { content: SECRET }, delta: {} }] },
    { choices: [{ index: 0, delta: { thoughts: SECRET, annotations: [{ content: SECRET }] } }] },
    { choices: [{ index: 1, delta: { role: SECRET } }] },
  ])('are no others: %j', (chunk) => {
    expect(JSON.stringify(known(chunk))).not.toContain(SECRET);
  });

  it('stay as they came', () => {
    const delta = { reasoning_content: 'hm', tool_calls: [{ index: 0, function: { arguments: '{}' } }] };
    const chunk = {
      choices: [{ index: 0, delta, stop_reason: null }],
      system_fingerprint: 'fp',
      usage: { prompt_tokens: 1 },
    };
    expect(known(chunk)).toEqual(chunk);
    const response = { id: 'resp_1', status: 'completed', output: [message] };
    const event = { type: 'response.completed', sequence_number: 3, response };
    expect(ofEvent(event)).toEqual(event);
  });

  it.each([
    { type: 'response.something', delta: SECRET },
    {
      type: 'response.output_item.done',
      item: { ...message, content: [{ type: 'refusal', refusal: SECRET }] },
    },
    { type: 'response.output_item.done', item: { ...message, content: [{ type: 'text', text: SECRET }] } },
    { type: 'response.output_item.done', item: { ...message, content: SECRET } },
    { type: 'response.output_item.done', item: [{ ...message, note: SECRET }] },
    { type: 'response.output_item.done', item: { text: SECRET } },
    { type: 'response.content_part.done', part: { type: 'reasoning_text', text: SECRET } },
    {
      type: 'response.content_part.done',
      part: { ...part, annotations: [{ title: SECRET }], parsed: SECRET },
    },
    { type: 'response.output_text.done', text: 'so', note: SECRET },
    { type: 'response.output_text.annotation.added', annotation: { title: SECRET } },
    {
      type: 'response.completed',
      response: { output: SECRET, output_text: SECRET, reasoning: { summary: SECRET } },
    },
    { type: 'response.completed', response: { output: [{ ...message, note: SECRET }, { text: SECRET }] } },
    {
      type: 'response.incomplete',
      response: { incomplete_details: { reason: SECRET }, error: { message: SECRET } },
    },
  ])('are no others of events: %j', (event) => {
    expect(JSON.stringify(ofEvent(event) ?? null)).not.toContain(SECRET);
  });
});
