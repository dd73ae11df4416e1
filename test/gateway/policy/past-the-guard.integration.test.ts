import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestSocket } from '../../support/gateway.js';
import { ask, type GovernedGateway, governedGateway } from '../../support/governed-gateway.js';
import { DOUBTFUL } from '../../support/obliging-upstream.js';

const CHAT = 'chat/completions';
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { properties: { file_id: {} } } } }];

let gateway: GovernedGateway;
beforeAll(async () => {
  gateway = await governedGateway();
});
afterAll(() => gateway.close());

describe('under a lock', () => {
  it('an answer ends before its doubtful step, and a key without locks gets it', async () => {
    const { url } = gateway;
    for (const path of [CHAT, 'completions', 'responses']) {
      for (const stream of [false, true]) {
        const text = await (await ask(url, 'locked', path, 'go', { stream })).text();
        expect(text).toContain('key:locked');
        expect(text).not.toContain(DOUBTFUL.m);
        expect(await (await ask(url, 'open', path, 'go', { stream })).text()).toContain(DOUBTFUL.m);
      }
    }
  });

  it.each([
    [CHAT, { return_tokens_as_token_ids: true }],
    [CHAT, { post_sampling_probs: true, n_probs: 0 }],
    [CHAT, { n: 2 }],
    [CHAT, { n: '2' }],
    [CHAT, { logit_bias: { 17: 100 } }],
    [CHAT, { modalities: ['text', 'audio'] }],
    [CHAT, { models: ['theirs-too'] }],
    [CHAT, { extra_body: { n: 2 } }],
    [CHAT, { verbose: true }],
    [CHAT, { stream: true, stream_options: { hide: true } }],
    ['completions', { echo: true }],
    ['completions', { best_of: 2 }],
    ['completions', { suffix: 'x' }],
    ['completions', { use_beam_search: true }],
    ['responses', { background: true }],
    ['responses', { include: ['code_interpreter_call.outputs'] }],
    ['responses', { tool_resources: {} }],
  ])('fields that are not known to leave the guard whole are refused: %s %o', async (path, fields) => {
    const { url, upstream } = gateway;
    const asked = upstream.requests.length;
    const answer = await ask(url, 'locked', path, 'go', fields);
    const name = Object.keys(fields).at(-1)!;
    const { error } = await answer.json();
    expect({ status: answer.status, error }).toMatchObject({
      status: expect.toSatisfy((status) => status === 403 || status === 400),
      error: { code: expect.stringMatching(/policy_violation|invalid_value/) },
    });
    if (answer.status === 403) expect(fields).toHaveProperty([error.param]);
    else expect(name).toBe('echo');
    expect(upstream.requests).toHaveLength(asked);
  });

  it('is as strict over WebSocket', async () => {
    const { url } = gateway;
    const socket = await TestSocket.open(url, { Authorization: 'Bearer the-key-of-locked-0123456789' });
    socket.send({ type: 'generation.create', model: 'm', messages: [{ role: 'user', content: 'go' }], n: 2 });
    const event = await socket.event(({ type }) => type === 'error');
    expect(event).toMatchObject({ error: { code: 'policy_violation', param: 'n' } });
    socket.close();
  });

  it.each([
    [CHAT, { tools: TOOLS }, 'tool_calls'],
    [CHAT, { chat_template_kwargs: { enable_thinking: true } }, 'reasoning'],
    ['responses', { tools: TOOLS }, 'tool_calls'],
    ['responses', { tools: TOOLS, parallel_tool_calls: true }, ''],
    ['responses', { reasoning: { summary: 'auto' } }, 'reasoning'],
    ['responses', { truncation: 'auto' }, 'content'],
  ])('an answer with something that nothing scores ends with an error: %s %o', async (path, fields, what) => {
    const { url } = gateway;
    for (const stream of [false, true]) {
      const answer = await ask(url, 'locked', path, 'go', { ...fields, stream });
      const text = await answer.text();
      expect(text).toContain('"unscored"');
      expect(text).toContain(what);
      expect(text).not.toContain(DOUBTFUL.m);
      expect(text).not.toMatch(/\[DONE\]|response\.completed|"finish_reason":"stop"/);
      if (!stream) expect(answer.status).toBe(403);
    }
  });

  it('what a policy lets pass is only flagged', async () => {
    const { url } = gateway;
    const answer = await ask(url, 'loose', CHAT, 'go', { tools: TOOLS, verbose: true });
    expect(await answer.text()).toContain('unscored: tool_calls');
  });

  it('fields that may name another model of the server are refused where that one is locked', async () => {
    const { url } = gateway;
    const answer = await ask(url, 'open', CHAT, 'go', { models: ['theirs-too'] });
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 403,
      body: { error: { code: 'policy_violation', param: 'models' } },
    });
    expect((await ask(url, 'open', CHAT, 'go', { n: 2, tools: TOOLS })).status).toBe(200);
  });
});

describe('where there are several keys', () => {
  const image = { type: 'input_image', file_id: 'file-1' };
  it.each([
    ['responses', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['responses', { conversation: { id: 'conv_1' } }, 'conversation'],
    ['responses', { Previous_Response_ID: 'resp_1' }, 'Previous_Response_ID'],
    ['responses', { input: [{ id: 'msg_1' }] }, 'input[0].id'],
    ['responses', { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }, 'input[0].id'],
    ['responses', { input: [{ type: 'image_generation_call', id: 'ig_1' }] }, 'input[0].id'],
    ['responses', { tools: [{ type: 'shell', skills: [{ skill_id: 's' }] }] }, 'tools[0].skills[0].skill_id'],
    ['responses', { tools: [{ type: 'code_interpreter', container: { id: 'c' } }] }, 'tools[0].container'],
    [CHAT, { extra_body: { google: { cached_content: 'c' } } }, 'extra_body.google.cached_content'],
    [CHAT, { documents: [{ file_id: 'f' }] }, 'documents[0].file_id'],
    ['responses', { prompt: { id: 'pmpt_1' } }, 'prompt'],
    ['responses', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].id'],
    ['responses', { input: [{ role: 'user', content: [image] }] }, 'input[0].content[0].file_id'],
    [
      'responses',
      { input: [{ type: 'function_call_output', call_id: 'c', output: [image] }] },
      'input[0].output[0].file_id',
    ],
    [
      'responses',
      { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
      'tools[0].vector_store_ids',
    ],
    ['responses', { tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'tools[0].container'],
    [
      'responses',
      { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['f'] } }] },
      'tools[0].container.file_ids',
    ],
    [
      CHAT,
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0].file.file_id',
    ],
    [
      CHAT,
      {
        messages: [
          { role: 'assistant', audio: { id: 'audio_1' } },
          { role: 'user', content: 'go' },
        ],
      },
      'messages[0].audio',
    ],
  ])('nobody refers to what the server has stored: %s %o', async (path, fields, param) => {
    const { url, upstream } = gateway;
    await (await ask(url, 'loose', path, 'secret')).text();
    const asked = upstream.requests.length;
    const answer = await ask(url, 'open', path, 'go', fields);
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param } },
    });
    expect(upstream.requests).toHaveLength(asked);
  });

  it.each([
    [CHAT, { tools: TOOLS, metadata: { conversation: 'mine' }, previous_response_id: null }],
    ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [] } }] }],
    [
      'responses',
      {
        input: [
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
          { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'so' }] },
          { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
          { role: 'user', content: 'go' },
        ],
      },
    ],
  ])('honest requests pass: %s %o', async (path, fields) => {
    const { url } = gateway;
    expect((await ask(url, 'open', path, 'go', fields)).status).toBe(200);
  });
});
