import { describe, expect, it } from 'vitest';
import { JSON_TYPE, SSE } from '../../support/scripted-upstream.js';
import { gatewayBefore } from '../../support/upstream-gateway.js';

/** Numbers of which JavaScript would write others, in fields that it reads and in fields that nobody knows. */
const NUMBERS = '"big":12345678901234567,"price":{"of":[1.10,{"least":0.0000001}]},"most":1e400,"none":-0';
const GUARDS = { on: '', off: ',"guard":{"enabled":false}' };
const event = (json: string): string => `data: ${json}\n\n`;
const choices = (of: string) => `"choices":[{"index":0,${of}}]`;

/** What servers answer: by path, streamed and whole. */
const PATHS: Readonly<Record<string, { asked: string; stream: string; whole: string }>> = {
  'chat/completions': {
    asked: '"messages":[{"role":"user","content":"Say it.","weight":1.50}]',
    stream:
      event(`{${choices(`"delta":{"content":"Hi",${NUMBERS}},"finish_reason":null`)}}`) +
      event(`{${choices('"delta":{},"finish_reason":"stop"')},"cost":2.50}`) +
      event('[DONE]'),
    whole: `{${choices(`"message":{"role":"assistant","content":"Hi",${NUMBERS}},"finish_reason":"stop"`)},"cost":2.50}`,
  },
  completions: {
    asked: '"prompt":"Say it."',
    stream:
      event(`{${choices(`"text":"Hi",${NUMBERS},"finish_reason":null`)}}`) +
      event(`{${choices('"text":"","finish_reason":"stop"')},"cost":2.50}`) +
      event('[DONE]'),
    whole: `{${choices(`"text":"Hi",${NUMBERS},"finish_reason":"stop"`)},"cost":2.50}`,
  },
  responses: {
    asked: '"input":"Say it."',
    stream: event(
      `{"type":"response.completed","response":{"id":"r","status":"completed","output":[],${NUMBERS},"cost":2.50}}`,
    ),
    whole: `{"id":"r","object":"response","status":"completed","output":[],${NUMBERS},"cost":2.50}`,
  },
};

describe.each(Object.entries(PATHS))('/v1/%s', (path, { asked }) => {
  it.each(
    Object.entries(GUARDS).flatMap(([name, guard]) =>
      [true, false].map((streams) => [name, streams, guard] as const),
    ),
  )('keeps digits both ways, with the guard %s, streamed: %s', async (_, streams, guard) => {
    const bodies: string[] = [];
    const { url } = await gatewayBefore(({ json, path: target, raw }, reply) => {
      bodies.push(raw);
      const { stream, whole } = PATHS[target.replace('/v1/', '')]!;
      const body = json.stream === true ? stream : whole;
      reply
        .head(200, json.stream === true ? SSE : JSON_TYPE)
        .write(body)
        .end();
    });
    const seed = path === 'responses' ? '' : ',"seed":9223372036854775807';
    const fields = `"temperature":1.0,${NUMBERS},"tools":[{"type":"function","function":{"name":"f","parameters":{"multipleOf":0.10}}}],"logit_bias":{"7":-100.0}`;
    const body = `{"model":"m",${asked},${fields}${seed},"stream":${streams}${guard}}`;
    const response = await fetch(`${url}/v1/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    const answer = await response.text();
    expect(response.status, answer).toBe(200);
    const sent = bodies.at(-1) ?? '';
    for (const field of [...fields.split(/,(?=")/), ...asked.split(/,(?=")/), ...seed.split(/,(?=")/)])
      expect(sent).toContain(field);
    for (const field of [...NUMBERS.split(/,(?=")/), '"cost":2.50']) expect(answer).toContain(field);
  });
});

it('what is passed through keeps them, too', async () => {
  const { url } = await gatewayBefore(({ raw }, reply) => reply.head(200, JSON_TYPE).write(raw).end(), {
    passthrough: ['POST /v1/embeddings'],
  });
  const response = await fetch(`${url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: `{"model":"m","input":"a",${NUMBERS}}`,
  });
  expect(await response.text()).toBe(`{"model":"m","input":"a",${NUMBERS}}`);
});
