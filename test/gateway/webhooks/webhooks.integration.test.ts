import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Metrics, Models, startGateway } from '#gateway/index.js';
import { verdictMessage } from '#tools/api/openapi-responses.js';
import { chatBody, post } from '../../support/gateway.js';
import { httpReceiver } from '../../support/http-receiver.js';
import { Scrape } from '../../support/metrics.js';
import { ScriptedModel } from '../../support/scripted-model.js';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

/** A gateway with these receivers of verdicts. */
async function gatewayWith(urls: readonly string[]) {
  const metrics = new Metrics();
  const gateway = await startGateway({
    metrics,
    models: new Models([new ScriptedModel()]),
    config: {
      listen: { port: 0 },
      webhooks: urls.map((url) => ({ url, secret_env: 'HOOK_SECRET', events: ['verdict' as const] })),
    },
    env: { HOOK_SECRET: SECRET },
  });
  onTestFinished(() => gateway.close());
  const count = async (webhook: number, outcome: string) =>
    new Scrape(await metrics.text()).sum('flinch_webhook_messages_total', {
      webhook: String(webhook),
      event: 'verdict',
      outcome,
    });
  const ask = async () => {
    const answer = await post(gateway.url, chatBody({ max_tokens: 3, stream: true }));
    expect(await answer.text()).toContain('[DONE]');
  };
  return { gateway, count, ask };
}

describe('webhooks', () => {
  it('get a signed verdict; one that hangs, redirects, refuses or is away delays nobody, and is counted', async () => {
    const received: unknown[] = [];
    const asked: string[] = [];
    const good = await httpReceiver(async (req, res) => {
      asked.push(`${req.method} ${req.url}`);
      const body = await text(req);
      const headers = Object.fromEntries(Object.entries(req.headers).map(([k, v]) => [k, String(v)]));
      received.push(new Webhook(SECRET).verify(body, headers));
      res.writeHead(204).end();
    });
    const hangs = await httpReceiver(() => {});
    const redirects = await httpReceiver((_, res) =>
      res.writeHead(307, { location: `${good}/stolen` }).end(),
    );
    const refuses = await httpReceiver((_, res) => res.writeHead(400).end('x'.repeat(1000)));
    const broken = await httpReceiver((req) => req.socket.destroy());
    const urls = [`${good}/hook?a=b`, hangs, redirects, refuses, broken];
    const { gateway, count, ask } = await gatewayWith(urls);
    await ask();
    await expect.poll(() => count(0, 'delivered')).toBe(1);
    await expect.poll(() => count(2, 'failed')).toBe(1);
    await expect.poll(() => count(3, 'failed')).toBe(1);
    expect(verdictMessage.parse(received[0]).data).toMatchObject({
      model: 'reasoner',
      outcome: 'done',
      finish_reason: 'stop',
      error: null,
      verdict: { flagged: null },
      usage: { completion_tokens: 3 },
    });
    expect(asked).toEqual(['POST /hook?a=b']);

    // What is left has one more try, and 3 s.
    const began = performance.now();
    await gateway.drain();
    expect(performance.now() - began).toBeLessThan(10_000);
    await expect.poll(() => count(1, 'dropped')).toBe(1);
    expect(await count(4, 'failed')).toBe(1);
  });
});
