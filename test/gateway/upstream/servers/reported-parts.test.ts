import { describe, expect, it } from 'vitest';
import { ReportedParts } from '#gateway/upstream/servers/reported-parts.js';

/** What is unscored of a delta after these tokens. */
function unscored(tokens: readonly string[], delta: object, index = 0) {
  const parts = new ReportedParts();
  for (const text of tokens) parts.wrote({ text });
  return parts.unscoredIn({ choices: [{ index, delta }] });
}

const call = (name: string, text: string) => ({
  tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: text } }],
});
const HERMES = ['<tool_call>', '{"name": "pay",', ' "arguments": {"to":', ' "Ann"', '}}', '</tool_call>'];

describe('what tokens tell of parts beside the text', () => {
  it.each([
    ['a call, written anew', HERMES, call('pay', '{"to":"Ann"}')],
    ['the beginning of one', HERMES.slice(0, 2), call('pay', '')],
    ['reasoning', ['<think>', 'So', ' it', ' is', '</think>'], { reasoning_content: 'So it is' }],
    ['text', [], { role: 'assistant', content: '' }],
  ])('is all of %s', (_what, tokens, delta) => {
    expect(unscored(tokens, delta)).toEqual([]);
  });

  it.each([
    ['a call without its last tokens', HERMES.slice(0, 3), call('pay', '{"to":"Ann"}'), 'tool_calls'],
    ['the name of another', HERMES, call('pay_all', ''), 'tool_calls'],
    ['an older call', ['hm'], { function_call: { name: 'f', arguments: '{}' } }, 'tool_calls'],
    ['other reasoning', ['ok'], { reasoning: 'ok', reasoning_content: 'no' }, 'reasoning'],
    ['details', ['ok'], { reasoning_details: [{ type: 'reasoning.text', text: 'no' }] }, 'reasoning'],
    [
      'parts of content',
      ['ok'],
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'no' }] }] },
      'content',
    ],
  ])('is not %s', (_what, tokens, delta, kind) => {
    expect(unscored(tokens, delta)).toEqual([kind]);
  });
});
