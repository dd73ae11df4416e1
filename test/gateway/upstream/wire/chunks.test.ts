import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readChunks } from '#gateway/upstream/wire/chunks.js';

const first = (message: string) => readChunks(message)[0]!;
const read = (choice: object) => first(JSON.stringify({ choices: [{ index: 0, ...choice }] }));
const logprobs = [{ token: 'No', logprob: -1, top_logprobs: [] }];

describe('the content of a chunk', () => {
  it('a refusal is beside the text', () => {
    const chunk = read({ delta: { refusal: 'No' }, logprobs: { content: null, refusal: logprobs } });
    expect(chunk).toMatchObject({
      text: '',
      parts: [{ kind: 'refusal', text: 'No' }],
      beside: { unscored: ['refusal'] },
    });
    const [choice] = z.array(z.unknown()).parse(chunk.beside?.chunk.choices);
    expect(choice).toEqual({
      index: 0,
      delta: { refusal: 'No' },
      logprobs: { content: null, refusal: logprobs },
    });
  });

  it('a list of parts is the text of its parts, but for thoughts', () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] };
    const texts = [
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ];
    expect(read({ delta: { content: texts } })).toMatchObject({ text: 'Hello', parts: [] });
    const delta = { content: [thinking, ...texts] };
    expect(readChunks(JSON.stringify({ choices: [{ index: 0, delta }] }))).toMatchObject([
      { text: '', parts: [{ kind: 'reasoning', text: 'Hm' }] },
      { text: 'Hello', parts: [] },
    ]);
  });

  it.each([
    ['tool_calls', { tool_calls: [{ index: 0, function: { name: 'rm', arguments: '{}' } }] }],
    ['tool_calls', { function_call: { name: 'rm', arguments: '{}' } }],
    ['content', { content: [{ type: 'image_url', image_url: {} }] }],
    ['reasoning', { reasoning_content: 'Hm' }],
    ['reasoning', { reasoning_text: 'Hm' }],
    ['reasoning', { any: { thinking_blocks: [{ type: 'thinking', thinking: 'Hm' }] } }],
    ['content', { plan: 'Go north' }],
    ['content', { next_steps: ['Go north'] }],
  ])('what is no text is passed on, and named: %s', (unscored, delta) => {
    const choice = { index: 0, delta };
    expect(read({ delta })).toMatchObject({
      text: '',
      parts: [{ kind: unscored }],
      beside: { chunk: { choices: [choice] }, unscored: [unscored] },
    });
  });

  it('what nobody knows is passed on at every depth', () => {
    const delta = { role: 'assistant', content: 'Hi', mood: { of: ['day'] } };
    const message = {
      id: 'theirs',
      model: 'theirs',
      tier: { a: 1 },
      choices: [{ index: 0, delta, more: 2 }],
    };
    const { text, parts, beside } = first(JSON.stringify(message));
    expect({ text, parts }).toEqual({ text: 'Hi', parts: [] });
    expect(beside).toEqual({
      chunk: { tier: { a: 1 }, choices: [{ index: 0, more: 2, delta: { mood: { of: ['day'] } } }] },
      unscored: [],
    });
  });

  it.each([
    { service_id: 'a b', trace: { channel: 'final', cached: 'yes' } },
    { reasoning_details: [{ type: 'reasoning.text', signature: 's==', format: 'v1', index: 0 }] },
    {
      annotations: [{ type: 'url_citation', url_citation: { title: 'A b', url: 'https://a', end_index: 3 } }],
    },
    { hits: [{ url: 'https://a', title: 'A b', quote: 'c d' }] },
  ])('labels and what is about a text are no text: %j', (delta) => {
    expect(read({ delta })).toMatchObject({ parts: [], beside: { unscored: [] } });
  });

  it('is that of the first choice; others are passed on', () => {
    const choice = (index: number, content: string) => ({ index, delta: { content } });
    const message = JSON.stringify({ choices: [choice(1, 'Other'), choice(0, 'Mine')] });
    const beside = { chunk: { choices: [choice(1, 'Other')] }, unscored: ['choices'] };
    expect(first(message)).toMatchObject({ text: 'Mine', parts: [], beside });
    expect(first(JSON.stringify({ choices: [choice(1, 'Other')] }))).toMatchObject({ text: '', beside });
  });

  it('Mistral has a reason of its own for the length of the context', () => {
    expect(read({ delta: {}, finish_reason: 'model_length' }).finishReason).toBe('length');
  });
});

describe('reasoning that is kept apart', () => {
  it.each([{ reasoning_content: 'Hm' }, { reasoning: 'Hm' }])('is seen: %j', (delta) => {
    const chunk = read({ delta, token_ids: [7], logprobs: { content: logprobs } });
    const parts = [{ kind: 'reasoning', text: 'Hm' }];
    expect(chunk).toMatchObject({ text: '', parts, ids: [7], tokens: [{ text: 'No' }] });
  });

  it('is none where it is empty', () => {
    expect(read({ delta: { content: 'No', reasoning_content: null, reasoning: '' } }).parts).toEqual([]);
  });
});

describe('tool calls', () => {
  it('are told with their place and their arguments, each', () => {
    const tool_calls = [
      { index: 0, function: { arguments: '}' } },
      { index: 1, id: 'b', function: { name: 'rm', arguments: '' } },
    ];
    const parts = [
      { kind: 'tool_calls', call: 0, text: '}' },
      { kind: 'tool_calls', call: 1, text: '' },
    ];
    expect(read({ delta: { tool_calls } }).parts).toEqual(parts);
  });

  it('are also what is none: a list of anything', () => {
    expect(read({ delta: { tool_calls: [7] } }).parts).toEqual([{ kind: 'tool_calls', text: '' }]);
    expect(read({ delta: { tool_calls: 'no list' } }).parts).toMatchObject([{ kind: 'tool_calls' }]);
  });
});
