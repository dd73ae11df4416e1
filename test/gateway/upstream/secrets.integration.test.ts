import { describe, expect, it } from 'vitest';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { post } from '../../support/gateway.js';
import {
  type Script,
  type ScriptedReply,
  type ScriptedRequest,
  scriptedUpstream,
} from '../../support/scripted-upstream.js';
import { answering, chunk, isProbe, ollamaDouble } from '../../support/upstream-doubles.js';
import { body, gatewayBefore, streamed, upstreamGateway } from '../../support/upstream-gateway.js';
import { upstreamConfig } from '../../support/upstream-server.js';

const KEY = 'sk-very-secret-0123456789';
const PROMPT = 'The launch code is 0000.';

async function keyed(script: Script) {
  const upstream = await scriptedUpstream(script);
  const { port } = new URL(upstream.url);
  const config = { url: `http://localhost:${port}/v1`, key_env: 'THEIR_KEY', model: 'their-model' };
  const gateway = await upstreamGateway([], { upstreams: [config], retries: 0 }, { env: { THEIR_KEY: KEY } });
  return {
    upstream,
    gateway,
    secrets: [KEY, `localhost:${port}`, `127.0.0.1:${port}`, `:${port}`, PROMPT, '::1'],
  };
}

const asking = { messages: [{ role: 'user', content: PROMPT }] };

describe('keys, hosts and prompts', () => {
  const all = (request: ScriptedRequest) => ({ error: { message: JSON.stringify(request) } });
  const begun = (reply: ScriptedReply): ScriptedReply => reply.head().data(chunk('One'));

  it.each<[string, Script]>([
    ['nothing', ollamaDouble()],
    [
      'a refusal that echoes the key and the host',
      ({ headers: { authorization, host = '' } }, reply) => {
        const [name = ''] = host.split(':');
        const message = `${authorization} at ${host}: ${name}, ${name.toUpperCase()}, will not have it`;
        reply.json(400, { error: { message } });
      },
    ],
    ['a key that is not accepted', ({ headers }, reply) => reply.json(401, { error: headers.authorization })],
    ['a cut', (_, reply) => reply.cut()],
    ['an error with all of it', (request, reply) => begun(reply).data(all(request)).end()],
    [
      'a chunk that is none',
      (request, reply) =>
        begun(reply)
          .data(`{"${JSON.stringify(request)}`)
          .end(),
    ],
    ['a status with all of it', (request, reply) => reply.json(500, all(request))],
    ['a redirect', ({ headers }, reply) => reply.head(302, { location: `http://${headers.host}/` }).end()],
    ['a cut in the middle', (_, reply) => void setImmediate(() => begun(reply).cut())],
    // No server there at all.
    ['gone', () => {}],
  ])('are in no error, no log and no status: %s', async (name, fault) => {
    const { gateway, upstream, secrets } = await keyed(answering(fault));
    if (name === 'gone') await upstream.close();
    const answer = await streamed(gateway.url, asking);
    const whole = await (await post(gateway.url, body({ ...asking, stream: false }))).text();
    const health = await (await fetch(`${gateway.url}/healthz`)).text();
    const seen = [JSON.stringify(answer), whole, health, ...gateway.log, JSON.stringify(gateway.status())];
    for (const secret of [...secrets, 'LOCALHOST']) {
      for (const text of seen) expect(text).not.toContain(secret);
    }
    expect(gateway.log.length).toBeGreaterThan(0);
  });

  it('are in no log where a refusal tells a client its own prompt', async () => {
    const { gateway } = await keyed(
      answering(({ body }, reply) => reply.json(400, { error: { message: JSON.stringify(body.messages) } })),
    );
    const answer = await streamed(gateway.url, asking);
    expect(answer.error?.message).toContain(PROMPT);
    const health = await (await fetch(`${gateway.url}/healthz`)).text();
    for (const text of [health, ...gateway.log]) expect(text).not.toContain(PROMPT);
  });

  it('of a key that is not there only the name is told', () => {
    const config = { upstreams: [{ url: 'http://their-host/v1', key_env: 'NO_KEY' }] };
    expect(() => openUpstreamModel('m', upstreamConfig([], config), { env: {} })).toThrow(
      'models.m.upstreams[0].key_env: the variable NO_KEY is not set',
    );
  });
});

describe('what leaves', () => {
  it('are these headers alone, whatever a client sends', async () => {
    const { gateway, upstream } = await keyed(ollamaDouble());
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: 'Bearer the-clients-own',
        Cookie: 'session=1',
        'X-Forwarded-For': '10.0.0.1',
        'X-Api-Key': 'the-clients-own',
      },
      body: JSON.stringify(body()),
    }).then((response) => response.text());
    for (const { headers } of upstream.requests) {
      const { host: _, connection: __, 'content-length': ___, ...own } = headers;
      expect(own).toEqual({
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        'user-agent': 'flinch',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        authorization: `Bearer ${KEY}`,
      });
    }
    expect(new Set(upstream.requests.map(({ headers }) => headers['x-request-id'])).size).toBe(
      upstream.requests.length,
    );
  });

  it('goes to the configured address and for the configured model, whatever a client asks', async () => {
    const { gateway, upstream } = await keyed(ollamaDouble());
    await streamed(gateway.url);
    const generation = upstream.requests.find((request) => !isProbe(request))!;
    expect(generation.path).toBe('/v1/chat/completions');
    expect(generation.body.model).toBe('their-model');
    for (const field of ['base_url', 'url', 'api_base', 'headers', 'upstream']) {
      const before = upstream.requests.length;
      expect(await streamed(gateway.url, { [field]: 'http://127.0.0.1:1/' })).toMatchObject({ status: 200 });
      // Passed on as any field that flinch does not know.
      const [{ body, headers }] = upstream.requests.slice(before) as [ScriptedRequest];
      expect(body).toMatchObject({ model: 'their-model', [field]: 'http://127.0.0.1:1/' });
      expect(Object.keys(headers).sort()).toEqual(Object.keys(generation.headers).sort());
    }
  });

  it('carries no key where none is configured', async () => {
    const { upstream, url } = await gatewayBefore(ollamaDouble());
    await streamed(url);
    for (const { headers } of upstream.requests) expect(headers).not.toHaveProperty('authorization');
  });
});
