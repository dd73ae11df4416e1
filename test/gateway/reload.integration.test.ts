import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { type ConfigInput, configSchema } from '#gateway/config/gateway-config.js';
import { ConfigError, EngineModel, Models, startGateway } from '#gateway/index.js';
import { useFolder } from '../support/cli.js';
import { chatBody, post, TestSocket } from '../support/gateway.js';
import { calibratedReasoner } from '../support/guarded-model.js';
import { renamed } from '../support/renamed-model.js';
import { openShared } from '../support/shared-engines.js';
import { useTestGateway } from '../support/waiting-gateway.js';
import { ask } from '../support/waiting-model.js';

const folder = useFolder();

const KEY = 'web-key-0123456789';
const OTHER = 'other-key-0123456789';
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const keyOf = (name: string, key: string) => ({
  name,
  sha256: createHash('sha256').update(key).digest('hex'),
});
const whole = (config: ConfigInput) => configSchema.parse(config);
const withKeys = (...keys: NonNullable<NonNullable<ConfigInput['access']>['keys']>) =>
  whole({ access: { keys } });

const statusOf = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(`${url}/v1/models`, { headers })).status;

describe('a gateway that is reloaded', () => {
  it.each([
    ['admit every client', whole({}), /^listen\.host: 0\.0\.0\.0 is not a loopback address/],
    [
      'name a key that is not there',
      withKeys({ name: 'new', env: 'NO_KEY' }),
      /the variable NO_KEY is not set/,
    ],
  ])('refuses settings that %s, and keeps its own', async (_, changed, message) => {
    const config = { listen: { host: '0.0.0.0' }, access: { keys: [keyOf('web', KEY)] } };
    const { url, reload } = await useTestGateway(config);
    expect(() => reload(changed)).toThrow(ConfigError);
    expect(() => reload(changed)).toThrow(message);
    expect(await statusOf(url, bearer(KEY))).toBe(200);
    expect(await statusOf(url)).toBe(401);
  });

  it('asks for keys where there were none, also on WebSockets that are open, and the other way round', async () => {
    const { url, reload } = await useTestGateway();
    expect(await statusOf(url)).toBe(200);
    const socket = await TestSocket.open(url);
    onTestFinished(() => socket.close());
    reload(withKeys(keyOf('web', KEY)));
    expect(await statusOf(url)).toBe(401);
    socket.send({ type: 'generation.create', ...ask('hello') });
    const refused = await socket.event(({ type }) => type === 'error');
    expect(refused).toMatchObject({ error: { code: 'invalid_api_key' } });
    reload(whole({}));
    expect(await statusOf(url)).toBe(200);
  });

  it('refuses tickets of keys that were removed', async () => {
    const { url, reload } = await useTestGateway({
      access: { keys: [keyOf('web', KEY), keyOf('other', OTHER)] },
    });
    const ticketOf = async (key: string) => {
      const issued = await fetch(`${url}/v1/tickets`, { method: 'POST', headers: bearer(key) });
      return String((await issued.json()).ticket);
    };
    const [removed, kept] = [await ticketOf(KEY), await ticketOf(OTHER)];
    reload(withKeys(keyOf('other', OTHER)));
    const open = (ticket: string) => fetchUpgrade(`${url}/v1/stream?ticket=${ticket}`);
    expect([await open(removed), await open(kept)]).toEqual([401, 101]);
  });

  it('changes the limits of clients that are there', async () => {
    const key = keyOf('web', KEY);
    const { url, reload } = await useTestGateway({ access: { keys: [key] } });
    expect(await statusOf(url, bearer(KEY))).toBe(200);
    reload(withKeys({ ...key, requests_per_minute: 1 }));
    expect([await statusOf(url, bearer(KEY)), await statusOf(url, bearer(KEY))]).toEqual([200, 429]);
    reload(withKeys({ ...key, metrics: true }));
    expect(await statusOf(url, bearer(KEY))).toBe(403);
  });

  it('gives what another model adds to an answer the policy that the answer began with', async () => {
    const engine = await openShared(await calibratedReasoner(folder.path('doubtful'), 1e-9));
    await engine.start();
    const model = await EngineModel.open('small', engine);
    const config = (name: string, rate: number): ConfigInput => ({
      guard: { name, defaults: { action: 'escalate', rate } },
    });
    const rates: (number | undefined)[] = [];
    const listening = renamed(model, 'large', (prepared, { fields }) => {
      rates.push(fields.guard.rate);
      return prepared;
    });
    let reload = (): void => {};
    const reloading = renamed(model, 'small', (prepared) => ({
      ...prepared,
      open: (...asked) => {
        reload();
        return prepared.open(...asked);
      },
    }));
    const escalate = { to: 'large' };
    const gateway = await startGateway({
      models: new Models([reloading, listening]),
      config: { listen: { port: 0 }, log: { level: 'silent' } },
      policies: { ...whole(config('old', 0.1)), models: { small: { escalate } } },
    });
    onTestFinished(() => gateway.close());
    const answer = async () => {
      const { flinch } = await (await post(gateway.url, chatBody({ model: 'small', max_tokens: 8 }))).json();
      return [flinch.guard.policy, flinch.escalations?.map(({ to }: { to: string }) => to)];
    };
    reload = () => gateway.reload({ ...whole(config('new', 0.2)), models: { small: { escalate } } });
    expect(await answer()).toEqual(['old', ['large']]);
    reload = () => {};
    expect(await answer()).toEqual(['new', ['large']]);
    expect(rates).toEqual([0.1, 0.2]);
  });
});

/** Status of a handshake. */
async function fetchUpgrade(url: string): Promise<number> {
  const socket = new WebSocket(url.replace('http', 'ws'), 'flinch.v1');
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.once('unexpected-response', (_request, { statusCode = 0 }) => {
      socket.removeAllListeners('error').on('error', () => {});
      socket.terminate();
      resolve(statusCode);
    });
  });
}
