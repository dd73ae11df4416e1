import { readFile } from 'node:fs/promises';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { chatBody, post, sseData, TestSocket, useGateway } from '../../support/gateway.js';
import { GUESSED_QUESTION } from '../../support/requests.js';
import { checkEvent } from '../../support/strict-event.js';

const gateway = useGateway();
const ajv = new Ajv2020({ strict: false, allErrors: true });
const openApi = JSON.parse(await readFile('gateway/openapi.json', 'utf8'));
ajv.addSchema(openApi, 'openapi');

function schema(path: string): ValidateFunction {
  const found = ajv.getSchema(path);
  if (!found) throw new Error(`no schema ${path}`);
  return found;
}
const http = (name: string): ValidateFunction => schema(`openapi#/components/schemas/${name}`);

function expectToFit(value: unknown, fits: ValidateFunction): void {
  const valid = fits(value);
  expect({ value: valid ? null : value, errors: fits.errors ?? null }).toEqual({ value: null, errors: null });
}

/** The answer has a status that the path may have, and a body that goes with it. */
async function expectListed(response: Response, path: string, method: 'get' | 'post'): Promise<void> {
  const listed = openApi.paths[path]?.[method]?.responses?.[response.status];
  expect({ path, method, status: response.status, listed: listed !== undefined }).toMatchObject({
    listed: true,
  });
  const reference: string = listed.content['application/json'].schema.$ref;
  expectToFit(await response.json(), http(reference.split('/').at(-1) ?? ''));
}

/** Much happens: steps are flagged, candidates drawn. */
const EVENTFUL = {
  temperature: 1,
  seed: 1,
  max_tokens: 40,
  guard: { action: 'rollback', rate: 0.9, candidates: 3, max_rollbacks: 4 },
};

describe('answers over HTTP are as openapi.json says', () => {
  it.each([
    ['plain', { max_tokens: 8 }],
    ['unguarded', { max_tokens: 8, guard: { enabled: false } }],
    ['with log-probabilities', { max_tokens: 8, logprobs: true, top_logprobs: 3 }],
    ['guarded', EVENTFUL],
  ])('whole: %s', async (_, changes) => {
    const body = chatBody(changes);
    expectToFit(body, http('ChatCompletionRequest'));
    const response = await post(gateway.url, body);
    expect(response.status).toBe(200);
    expectToFit(await response.json(), http('ChatCompletion'));
  });

  it.each([
    ['plain', { max_tokens: 8 }],
    [
      'with log-probabilities and usage',
      { max_tokens: 8, logprobs: true, top_logprobs: 2, stream_options: { include_usage: true } },
    ],
    ['guarded', EVENTFUL],
  ])('streamed: %s', async (_, changes) => {
    const body = chatBody({ ...changes, stream: true });
    expectToFit(body, http('ChatCompletionRequest'));
    const events: string[] = [];
    for await (const data of sseData(await post(gateway.url, body))) events.push(data);
    expect(events.pop()).toBe('[DONE]');
    expect(events.length).toBeGreaterThan(8);
    for (const data of events) expectToFit(JSON.parse(data), http('ChatCompletionChunk'));
  });

  it.each([
    ['/v1/completions', 'Completion', { prompt: 'The end', logprobs: 2 }, 'CompletionChunk'],
    ['/v1/responses', 'Response', { input: 'Well?', max_output_tokens: 8 }, 'ResponseEvent'],
  ])('%s, whole and streamed', async (path, name, changes, part) => {
    const body = { model: 'reasoner', temperature: 0, ...changes };
    expectToFit(body, http(`${name}Request`));
    const send = (stream: boolean) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ ...body, stream }),
      });
    expectToFit(await (await send(false)).json(), http(name));
    const events: string[] = [];
    for await (const data of sseData(await send(true))) if (data !== '[DONE]') events.push(data);
    expect(events.length).toBeGreaterThan(8);
    for (const data of events) expectToFit(JSON.parse(data), http(part));
  });

  it.each([
    ['/v1/models', 'ModelList', 200],
    ['/v1/models/reasoner', 'Model', 200],
    ['/v1/models/other', 'Error', 404],
    ['/healthz', 'Health', 200],
  ])('%s is a %s', async (path, name, status) => {
    const response = await fetch(gateway.url + path);
    expect(response.status).toBe(status);
    expectToFit(await response.json(), http(name));
  });

  it.each([
    ['post', '/v1/tickets', '/v1/tickets', {}, ''],
    ['get', '/livez', '/livez', {}, undefined],
    ['get', '/readyz', '/readyz', {}, undefined],
    ['get', '/v1/models', '/v1/models', { Origin: 'https://elsewhere.example' }, undefined],
    ['post', '/v1/chat/completions', '/v1/chat/completions', { 'Content-Encoding': 'gzip' }, '{}'],
    ['post', '/v1/chat/completions', '/v1/chat/completions', { 'Last-Event-ID': 'e/chatcmpl-1/3' }, '{}'],
    ['post', '/v1/chat/completions', '/v1/chat/completions', {}, `"${'x'.repeat(2 ** 20)}"`],
    ['get', '/v1/chat/completions/{id}', '/v1/chat/completions/chatcmpl-1', {}, undefined],
    [
      'get',
      '/v1/chat/completions/{id}',
      '/v1/chat/completions/chatcmpl-1',
      { 'Last-Event-ID': 'e/chatcmpl-1/3' },
      undefined,
    ],
  ] as const)(
    '%s %s has the status and the body of one that is listed',
    async (method, listed, path, headers, body) => {
      const type = { 'Content-Type': 'application/json' };
      const request = body === undefined ? { headers } : { headers: { ...type, ...headers }, body };
      await expectListed(await fetch(gateway.url + path, { method, ...request }), listed, method);
    },
  );

  it('what is refused is an Error', async () => {
    const body = chatBody({ temperature: 'hot' });
    expect(http('ChatCompletionRequest')(body)).toBe(false);
    const response = await post(gateway.url, body);
    expect(response.status).toBe(400);
    expectToFit(await response.json(), http('Error'));
  });
});

describe('messages of the WebSocket are as their schemas say', () => {
  it('through an answer with rollbacks, an error and a cancellation', async () => {
    const socket = await TestSocket.open(gateway.url);
    const ask = (request_id: string, changes: object): void => {
      const create = { type: 'generation.create', request_id, ...chatBody(changes) };
      checkEvent(create);
      socket.send(create);
    };
    const messages = [{ role: 'user', content: GUESSED_QUESTION }];
    ask('eventful', { ...EVENTFUL, messages, max_tokens: 200, top_logprobs: 2 });
    await socket.event(({ type }) => type === 'generation.done');
    socket.send({ type: 'generation.cancel', response_id: 'none' });
    ask('cancelled', { temperature: 1 });
    const { response_id } = await socket.event(({ request_id }) => request_id === 'cancelled');
    const cancel = { type: 'generation.cancel', response_id };
    checkEvent(cancel);
    socket.send(cancel);
    await socket.event((event) => event.type === 'generation.done' && event.response_id === response_id);
    for (const event of socket.events) checkEvent(event);
    const types = new Set(socket.events.map(({ type }) => type));
    for (const type of ['step.flagged', 'rollback.done', 'token.retracted', 'error'])
      expect(types).toContain(type);
    socket.close();
  });
});
