import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import type { UpstreamModel } from '#gateway/upstream/upstream-model.js';
import { growthOf, MOST_GROWTH } from '../../support/growth.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.js';
import { answering } from '../../support/upstream-doubles.js';
import { upstreamConfig } from '../../support/upstream-server.js';

/** What an upstream chooses in number takes so much time for each, whatever is new in each chunk. */
const FEW = 400;
const OTHER_MS = 15;

type Json = Readonly<Record<string, unknown>>;
type Shape = (i: number) => Json;

const choice = (more: Json, index = 0): Json => ({ index, finish_reason: null, ...more });
const chunk = (...choices: readonly Json[]): Json => ({ choices });
const entry = (token: string, more: Json = {}): Json => ({
  token,
  logprob: -1,
  bytes: null,
  top_logprobs: [],
  ...more,
});
const call = (index: number | undefined, more: Json = {}): Json => ({
  index,
  id: 'c',
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  ...more,
});

/** Whatever of an answer is joined: each shape has all places at once where something may be new. */
const JOINED: Readonly<Record<string, Shape>> = {
  'a name beside the choices': (i) => ({ ...chunk(choice({ delta: { content: ' w' } })), [`n${i}`]: 1 }),
  'a name alone': (i) => ({ ...chunk(), [`n${i}`]: { a: 1 } }),
  'names within choices': (i) => {
    const name = { [`n${i}`]: 1 };
    const tool_calls = [call(0, { ...name, function: { ...name, arguments: '{' } })];
    const own = {
      delta: { content: ' w', ...name, deep: { deeper: name }, tool_calls },
      logprobs: name,
      ...name,
    };
    return chunk(choice(own), choice(own, 1));
  },
  indices: (i) => {
    const delta = { tool_calls: [call(i)], details: [{ index: -i, text: ' w' }], content: ' w' };
    return chunk(choice({ delta }), choice({ delta }, i + 1));
  },
  'values and texts': (i) => {
    const text = ` w${i}`;
    const list = [i, [i], { i }];
    const content = [
      { type: 'image_url', image_url: {} },
      { type: 'text', text },
    ];
    const logprobs = { content: [entry(text)], refusal: [entry(text)] };
    const delta = {
      content,
      refusal: text,
      reasoning: text,
      audio: { data: text },
      i,
      list,
      tool_calls: [call(undefined)],
    };
    return {
      ...chunk(choice({ delta, logprobs, i }), choice({ delta, logprobs, i }, 1)),
      i,
      object: { i },
      usage: { i },
    };
  },
};

const place = { item_id: 'm', output_index: 0, content_index: 0 };

const EVENTS: Readonly<Record<string, Shape>> = {
  'a token': (i) => ({
    ...{
      type: 'response.output_text.delta',
      ...place,
      delta: ` w${i}`,
      logprobs: [entry(` w${i}`)],
      [`n${i}`]: 1,
    },
  }),
  'a state': (i) => ({ type: 'response.in_progress', response: { id: 'r', output: [], [`n${i}`]: 1 } }),
  'an item': (i) => ({
    type: 'response.output_item.done',
    output_index: i,
    item: { type: 'message', id: `i${i}` },
  }),
  'a part': (i) => ({
    ...{
      type: 'response.content_part.added',
      ...place,
      content_index: i,
      part: { type: 'output_text', text: '' },
    },
  }),
  'a text that ends before it has come': () => ({ type: 'response.output_text.done', ...place, text: 'w' }),
  'another event': (i) => ({ type: `response.${i}`, item_id: `c${i}`, delta: '{', [`n${i}`]: i }),
};

const ends = (...messages: readonly Json[]): string =>
  messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const stop = (more: Json): string =>
  `${ends(chunk({ index: 0, finish_reason: 'stop', ...more }))}data: [DONE]\n\n`;

const CHAT = {
  path: '/v1/chat/completions',
  request: { messages: [{ role: 'user', content: 'Say it.' }], logprobs: true },
  end: stop({ delta: {} }),
};
const RESPONSES = {
  path: '/v1/responses',
  request: { input: 'Say it.', include: ['message.output_text.logprobs'] },
  end: ends({ type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } }),
};

const STREAMED = { stream: true };
const WHOLE = { stream: false };
const UNREAD = { stream: true, guard: { enabled: false } };

const cases = [
  { api: CHAT, shapes: JOINED, modes: { STREAMED, WHOLE, UNREAD } },
  { api: RESPONSES, shapes: EVENTS, modes: { STREAMED, WHOLE } },
].flatMap(({ api, shapes, modes }) =>
  Object.entries(modes).flatMap(([mode, request]) =>
    Object.entries(shapes).map(([name, shape]) => ({ api, mode, name, request, shape })),
  ),
);

let answer = '';
let upstream: ScriptedUpstream;
let model: UpstreamModel;
let gateway: Gateway;
beforeAll(async () => {
  upstream = await startScriptedUpstream(answering((_, reply) => reply.head().write(answer).end()));
  model = openUpstreamModel('m', upstreamConfig([upstream.url], { retries: 0 }));
  gateway = await startGateway({ models: new Models([model]), config: { listen: { port: 0 } } });
});
afterAll(async () => {
  await gateway.close();
  await model.close();
  await upstream.close();
});

it.each(cases)(
  '$api.path, $mode: so much time for each chunk with $name',
  async ({ api, request, shape }) => {
    const asked = async (count: number): Promise<void> => {
      answer = ends(...Array.from({ length: count }, (_, i) => shape(i))) + api.end;
      const response = await fetch(gateway.url + api.path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', ...api.request, ...request }),
      });
      const got = await response.text();
      const fault = /"error":\{.*/.exec(got)?.[0];
      expect({ status: response.status, fault }).toEqual({ status: 200, fault: undefined });
    };
    expect(await growthOf(asked, FEW, OTHER_MS)).toBeLessThan(MOST_GROWTH);
  },
);
