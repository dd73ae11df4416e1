import { describe, expect, it } from 'vitest';
import { readChunk, readGenerateLine } from '#gateway/upstream/wire/chunks.js';

const read = (choice: object) => readChunk(JSON.stringify({ choices: [{ index: 0, ...choice }] }));
const logprobs = [{ token: 'No', logprob: -1, top_logprobs: [] }];

describe('the content of a chunk', () => {
  it('a refusal is text', () => {
    const chunk = read({ delta: { refusal: 'No' }, logprobs: { content: null, refusal: logprobs } });
    expect(chunk).toMatchObject({ text: 'No', tokens: [{ text: 'No', logprob: -1 }] });
  });

  it('a list of parts is the text of its parts, but for thoughts', () => {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] };
    const texts = [
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ];
    expect(read({ delta: { content: texts } })).toMatchObject({ text: 'Hello', thinking: false });
    expect(read({ delta: { content: [thinking, ...texts] } })).toMatchObject({
      text: 'Hello',
      thinking: true,
    });
  });

  it.each([
    { tool_calls: [{ index: 0, function: { name: 'rm', arguments: '{}' } }] },
    { function_call: { name: 'rm', arguments: '{}' } },
    { content: [{ type: 'image_url', image_url: {} }] },
    { content: ['Hello'] },
  ])('what is no text is a fault, not an empty answer: %j', (delta) => {
    expect(() => read({ delta })).toThrow(/instead of text/);
  });

  it('is that of the choice that was asked for', () => {
    const choice = (index: number, content: string) => ({ index, delta: { content } });
    const message = JSON.stringify({ choices: [choice(1, 'Other'), choice(0, 'Mine')] });
    expect(readChunk(message).text).toBe('Mine');
    expect(readChunk(JSON.stringify({ choices: [choice(1, 'Other')] })).text).toBe('');
  });

  it('Mistral has a reason of its own for the length of the context', () => {
    expect(read({ delta: {}, finish_reason: 'model_length' }).finishReason).toBe('length');
  });
});

describe('reasoning that is kept apart', () => {
  it.each([{ reasoning_content: 'Hm' }, { reasoning: 'Hm' }])('is seen: %j', (delta) => {
    const chunk = read({ delta, token_ids: [7], logprobs: { content: logprobs } });
    expect(chunk).toMatchObject({ text: '', thinking: true, ids: [7], tokens: [{ text: 'No' }] });
  });

  it('is none where it is empty', () => {
    expect(read({ delta: { content: 'No', reasoning_content: null, reasoning: '' } }).thinking).toBe(false);
  });

  it('is seen in lines of Ollama', () => {
    const line = { response: '', thinking: 'Hm', done: false };
    expect(readGenerateLine(JSON.stringify(line)).thinking).toBe(true);
  });
});
