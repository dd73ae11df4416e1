import { describe, expect, it } from 'vitest';
import { useGateway } from '../../support/gateway.js';
import { exchange, request } from '../../support/raw.js';

const gateway = useGateway();
const get = (path: string) => fetch(`${gateway.url}${path}`);

describe('the gateway', () => {
  it('says how it is', async () => {
    const response = await get('/healthz');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      status: 'ok',
      models: [
        {
          id: 'reasoner',
          streams: 0,
          score: { precision: 'fp32' },
          decode: { pid: expect.any(Number), restarts: 0, precision: 'fp32' },
        },
      ],
    });
  });

  it('serves the page and what it needs, and lets it load nothing from elsewhere', async () => {
    const page = await get('/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    const html = await page.text();
    const linked = [...html.matchAll(/(?:src|href)="(\.?\/[^"]+)"/g)].map(([, path]) =>
      path!.replace(/^\./, ''),
    );
    expect(linked.length).toBeGreaterThanOrEqual(2);
    for (const path of linked) expect((await get(path)).status, path).toBe(200);
  });

  it('gives its client to pages of other sites, and no other file', async () => {
    const client = await get('/client.js');
    expect(client.headers.get('access-control-allow-origin')).toBe('*');
    expect(await client.text()).toContain('FlinchClient');
    expect((await get('/main.js')).headers.get('access-control-allow-origin')).toBeNull();
  });

  it('has no answer of it taken for something else than it says', async () => {
    for (const path of ['/livez', '/v1/models', '/v1/nowhere', '/metrics', '/', '/main.js']) {
      expect((await get(path)).headers.get('x-content-type-options'), path).toBe('nosniff');
    }
  });

  it('redirects nobody to a host that is named in the path', async () => {
    for (const path of ['/\\evil.example/..', '//evil.example/..', '/%5cevil.example/%2e%2e']) {
      const answer = await exchange(gateway.url, request(`GET ${path}`));
      expect(answer, path).toMatch(/^HTTP\/1\.1 40[04]/);
      expect(answer, path).not.toMatch(/location:/i);
    }
  });

  it.each([
    ['DELETE', '/v1/chat/completions', 'POST'],
    ['PUT', '/v1/responses/0', 'GET'],
    ['GET', '/v1/tickets', 'POST'],
    ['PATCH', '/v1/models/reasoner', 'GET, HEAD'],
    ['OPTIONS', '/livez', 'GET, HEAD'],
    ['POST', '/metrics', 'GET, HEAD'],
    ['GET', '/beta/litellm_basic_guardrail_api', 'POST'],
  ])('says which methods a path has: %s %s', async (method, path, allowed) => {
    const response = await fetch(`${gateway.url}${path}`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, allowed]);
    expect(await response.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  it('answers what it does not know in the shape of its API', async () => {
    const response = await get('/v1/embeddings');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { code: 'not_found', message: expect.stringContaining('/v1/embeddings') },
    });
  });
});
