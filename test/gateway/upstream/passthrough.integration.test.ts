import { describe, expect, it, onTestFinished } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { type GatewayOptions, Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { exchange, request } from '../../support/raw.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { ollamaDouble } from '../../support/upstream-doubles.js';
import { upstreamGateway } from '../../support/upstream-gateway.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const EMBEDDING = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] };

/** A server that also has embeddings, files, and a stream of its own. */
const script: Script = (request, reply) => {
  const chat = ollamaDouble();
  const [path = ''] = request.path.split('?');
  if (path === '/v1/embeddings') return reply.json(200, EMBEDDING, { 'x-internal': 'host-17' });
  if (path === '/v1/transcribe') {
    return reply.head().last({ type: 'response.created', sequence_number: 0 });
  }
  if (path === '/v1/files') return reply.json(404, { error: { message: 'no files' } });
  if (path === '/v1/locked') return reply.json(401, { error: { message: 'bad key of host-17' } });
  return chat({ ...request, path }, reply);
};

async function serving(changes: object = {}, config: GatewayOptions['config'] = {}) {
  const upstream = await scriptedUpstream(script);
  const url = `${upstream.url}?api-version=2026-01-01`;
  const upstreams = [
    { url, model: 'theirs', headers: { 'X-Team': 'chat', 'api-key': { env: 'THEIR_KEY' } } },
  ];
  const gateway = await upstreamGateway(
    [],
    { upstreams, ...changes },
    { env: { THEIR_KEY: 'sesame' } },
    config,
  );
  return { ...gateway, upstream };
}

const post = (url: string, body: unknown) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer client', cookie: 'a=b' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('other paths below /v1', () => {
  it('are nothing unless the configuration says so', async () => {
    const { url } = await serving();
    const response = await post(`${url}/v1/embeddings`, { model: 'm', input: 'x' });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('go to the server as they come, and come back so', async () => {
    const { url, upstream } = await serving({ passthrough: true });
    const response = await post(`${url}/v1/embeddings?x=1`, { model: 'm', input: ['x'], any: { thing: 1 } });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 200,
      body: EMBEDDING,
    });
    expect(response.headers.get('x-internal')).toBeNull();
    const { path, body, headers } = upstream.requests.at(-1)!;
    expect(path).toBe('/v1/embeddings?api-version=2026-01-01&x=1');
    expect(body).toEqual({ model: 'theirs', input: ['x'], any: { thing: 1 } });
    expect(headers).toMatchObject({ 'x-team': 'chat', 'api-key': 'sesame' });
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('cookie');
  });

  it('stream, and pass on what the server refuses', async () => {
    const { url } = await serving({ passthrough: ['POST /v1/transcribe', 'GET /v1/files'] });
    const stream = await post(`${url}/v1/transcribe`, { model: 'm', stream: true, input: 'x' });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    expect(await stream.text()).toBe(
      'data: {"type":"response.created","sequence_number":0}\n\ndata: [DONE]\n\n',
    );
    const files = await fetch(`${url}/v1/files`);
    expect({ status: files.status, body: await files.json() }).toEqual({
      status: 404,
      body: { error: { message: 'no files' } },
    });
  });

  it.each([
    'GET /v1/files/file-1',
    'DELETE /v1/files/file-1',
    'GET /v1/responses/resp_1',
    'GET /v1/chat/completions',
    'DELETE /v1/models/other',
    'POST /v1/load_lora_adapter',
    'POST /v1/messages',
    'POST /v1/audio/transcriptions',
    'POST /v1/audio/chat/completions',
    'POST /v1/models/m:generateContent',
    'POST /v1/embeddings/',
    'POST /v1/score/chat',
    'HEAD /v1/embeddings',
    'GET /v1/embeddings',
  ])('are not %s unless the operator lists it', async (route) => {
    const { url, upstream } = await serving({ passthrough: true });
    await expect.poll(() => upstream.requests.length).toBeGreaterThan(0);
    const asked = upstream.requests.length;
    const [method = '', path = ''] = route.split(' ');
    const answer = await exchange(url, request(`${method} ${path}`));
    expect(answer).toMatch(/^HTTP\/1\.1 (400|404|405) /);
    const paths = upstream.requests.slice(asked).map(({ path }) => path.split('?')[0]);
    // The gateway itself may still ask what the server can do.
    const own = ['/v1/chat/completions', '/v1/completions'];
    expect(paths.filter((each) => !own.includes(each ?? ''))).toEqual([]);
  });

  it.each([
    '/v1/embeddings/../chat/completions',
    '/v1/models/../chat/completions',
    '/v1/./embeddings',
    '/v1//embeddings',
    '/v1/score/..//chat/completions',
    '/v1/%65mbeddings',
    '/v1/score/%2e%2e/chat/completions',
    '/v1/score/.%2E/chat/completions',
    '/v1/score/..%2fchat',
    '/v1/score/..%5cchat',
    '/v1/score/..;/chat',
    '/v1/score\\..\\chat',
    '/v1/score/\\../chat',
    '/v1/embeddings;x=1',
    '/v1/embeddings%00',
  ])('are refused in any form but the plain one: %s', async (path) => {
    const { url, upstream } = await serving({ passthrough: true });
    const answer = await exchange(url, request(`POST ${path}`, { 'Content-Length': '0' }));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.requests.filter(({ json }) => Object.keys(json).length === 0)).toEqual([]);
  });

  it('are no pages of the gateway', async () => {
    const { url } = await serving({ passthrough: ['GET /v1/files'] });
    const { headers } = await fetch(`${url}/v1/files`);
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });

  it.each([
    ['a model that is not served', 404, 'model_not_found', { model: 'other' }],
    ['a body that is not JSON', 400, 'invalid_json', '{'],
  ])('refuse %s', async (_name, status, code, body) => {
    const { url } = await serving({ passthrough: true });
    const response = await post(`${url}/v1/embeddings`, body);
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status,
      body: { error: { code } },
    });
  });

  it("say nothing of the gateway's own key", async () => {
    const { url } = await serving({ passthrough: ['POST /v1/locked'] });
    const response = await post(`${url}/v1/locked`, { model: 'm' });
    const text = await response.text();
    expect(response.status).toBe(502);
    expect(text).toContain('upstream_unauthorized');
    expect(text).not.toContain('host-17');
  });
});

describe('other paths under a policy with locks', () => {
  const passthrough = ['POST /v1/transcribe', 'POST /v1/embeddings'];

  it('are those at which no text is written', async () => {
    const { url } = await serving({ passthrough }, { guard: { name: 'strict', locked: ['enabled'] } });
    const refused = await post(`${url}/v1/transcribe`, { model: 'm', input: 'x' });
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 403,
      body: { error: { code: 'policy_violation', message: expect.stringContaining('strict') } },
    });
    expect((await post(`${url}/v1/embeddings`, { model: 'm', input: 'x' })).status).toBe(200);
  });

  it('are all, where the policy lets pass what nothing scores', async () => {
    const { url } = await serving({ passthrough }, { guard: { locked: ['enabled'], unscored: 'pass' } });
    expect((await post(`${url}/v1/transcribe`, { model: 'm', input: 'x' })).status).toBe(200);
  });

  it.each([
    ['text', 'text/plain', '{"model":"theirs-too"}'],
    ['no type', '', '{"model":"theirs-too"}'],
    ['a list', 'application/json', '[{"model":"theirs-too"}]'],
    ['JSON of the open model', 'application/json', '{"model":"open"}'],
    ['a form', 'application/x-www-form-urlencoded', 'model=theirs-too'],
    ['parts', 'multipart/form-data; boundary=b', '--b\r\n\r\ntheirs-too\r\n--b--'],
    ['JSON after a mark, as parts', 'multipart/form-data', '\xEF\xBB\xBF{"model":"theirs-too"}'],
    ['UTF-16', 'application/json', Buffer.from('{"model":"theirs-too"}', 'utf16le').toString('latin1')],
  ])('are none that may name a locked model of the same server: %s', async (_name, type, body) => {
    const upstream = await scriptedUpstream(script);
    const models = ['open', 'theirs-too'].map((name) =>
      openUpstreamModel(name, upstreamConfig([upstream.url], { passthrough })),
    );
    const policies = configSchema.parse({
      models: { 'theirs-too': { upstreams: [{ url: upstream.url }], guard: { locked: ['enabled'] } } },
    });
    const gateway = await startGateway({
      models: new Models(models),
      config: { listen: { port: 0 } },
      policies,
    });
    onTestFinished(async () => {
      await gateway.close();
      for (const model of models) await model.close();
    });
    const length = String(Buffer.byteLength(body, 'latin1'));
    const headers = { 'Content-Length': length, ...(type && { 'Content-Type': type }) };
    const answer = await exchange(gateway.url, request('POST /v1/transcribe', headers, body));
    expect(answer).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(upstream.requests.filter(({ path }) => path.startsWith('/v1/transcribe'))).toEqual([]);
  });
});

describe('the configuration of a server', () => {
  it('has its query and headers in every request, and the answer is read as ever', async () => {
    const { url, upstream } = await serving();
    const response = await post(`${url}/v1/chat/completions`, {
      model: 'm',
      messages: [{ role: 'user', content: 'Say it.' }],
    });
    expect(response.status).toBe(200);
    for (const { path, headers } of upstream.requests) {
      expect(path).toMatch(/\?api-version=2026-01-01$/);
      expect(headers).toMatchObject({ 'x-team': 'chat', 'api-key': 'sesame' });
    }
  });
});
