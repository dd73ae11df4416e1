import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkFields, type PassedApi, passedFields } from '#gateway/policy/passed-fields.js';

const PAGE = readFileSync(new URL('../../../docs/how-to/set-a-policy.md', import.meta.url), 'utf8');
const ROWS: readonly (readonly [PassedApi, string])[] = [
  ['chat', 'chat completions, WebSocket'],
  ['completion', 'completions'],
  ['response', 'responses'],
];

/** The field that is refused, if one is. */
function refused(api: PassedApi, fields: object, scored = true): string | null {
  try {
    const request = { model: 'm', guard: {}, ...(api === 'response' ? {} : { messages: [] }), ...fields };
    checkFields(request, api, { policy: 'strict', scored });
    return null;
  } catch (error) {
    expect(error).toMatchObject({ status: 403, body: { code: 'policy_violation' } });
    return String(Reflect.get(Object(error), 'message')).split(':')[0] ?? '';
  }
}

describe('the fields that go on under a lock', () => {
  it.each(ROWS)('are those on the page about policies: %s', (api, name) => {
    const row = PAGE.split('\n').find((line) => line.startsWith(`| ${name} |`)) ?? '';
    const told = [...row.matchAll(/`(\w+)`/g)].map(([, each]) => each).filter((each) => each !== 'false');
    expect(told.toSorted()).toEqual([...passedFields(api)].toSorted());
  });

  it('are no others, nor any that an object only inherits', () => {
    expect(refused('chat', { post_sampling_probs: true })).toBe('post_sampling_probs');
    expect(refused('chat', { constructor: 1 })).toBe('constructor');
    expect(refused('chat', JSON.parse('{"__proto__": {"n": 2}}'))).toBe('__proto__');
    expect(refused('chat', { echo: true })).toBe('echo');
    expect(refused('completion', { tools: [] })).toBe('tools');
  });

  it('may be null, which is not set', () => {
    expect(refused('chat', { n: null, anything: null, tools: undefined })).toBeNull();
  });

  it.each([
    ['chat', { n: 1, modalities: ['text'], logit_bias: {}, stream_options: { include_usage: true } }],
    ['completion', { best_of: 1, echo: false, suffix: '', n: 1 }],
    ['response', { background: false, include: ['message.output_text.logprobs'] }],
  ] as const)('are limited where text without a score is refused: %s', (api, fields) => {
    expect(refused(api, fields)).toBeNull();
    for (const [name, value] of Object.entries(fields)) {
      const other = typeof value === 'number' ? 2 : typeof value === 'boolean' ? !value : ['else'];
      expect(refused(api, { [name]: other })).toBe(name);
    }
  });

  it('multiply answers where it passes', () => {
    expect(refused('chat', { n: 2, modalities: ['text', 'audio'] }, false)).toBeNull();
    expect(refused('chat', { stream_options: { hide: true } }, false)).toBe('stream_options');
  });
});
