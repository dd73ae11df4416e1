import { sha256 } from '#gateway/access/access-keys.js';
import { configSchema } from '#gateway/config/gateway-config.js';
import { Models, startGateway } from '#gateway/index.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { type ObligingUpstream, obligingUpstream } from './obliging-upstream.js';
import { upstreamConfig } from './upstream-server.js';

export const KEYS = ['locked', 'open', 'loose'] as const;
export type Key = (typeof KEYS)[number];
export const keyOf = (name: Key): string => `the-key-of-${name}-0123456789`;

export interface GovernedGateway {
  readonly url: string;
  readonly upstream: ObligingUpstream;
  /** Server of the model `free`. */
  readonly other: ObligingUpstream;
  close(): Promise<void>;
}

/** Guard that flags steps that are less probable than most: the last of an answer's five, no calm one. */
const GUARD = { methods: ['nll'], rate: 0.22 };

/**
 * A gateway in front of a server that does everything it is asked. The guard stops at doubtful steps for the key
 * `locked`, which cannot change that, and for `loose`, for which text without a score passes; the key `open` may do
 * anything. The model `m` is open to all keys; the guard of `theirs-too` on the same server is locked; `free` is on
 * another server. The gateway has seen enough ordinary steps to flag others.
 */
export async function governedGateway(): Promise<GovernedGateway> {
  const upstream = await obligingUpstream('m', 'theirs-too');
  const things = ['GET', 'POST', 'PUT', 'DELETE'].map((method) => `${method} /v1/thing`);
  const passthrough = [...things, 'POST /v1/embeddings', 'POST /v1/audio/transcriptions'];
  const other = await obligingUpstream('free');
  const servers = [
    ['free', other],
    ['m', upstream],
    ['theirs-too', upstream],
  ] as const;
  const models = servers.map(([name, { url }]) =>
    openUpstreamModel(name, upstreamConfig([url], { passthrough, retries: 0 })),
  );
  const stop = { ...GUARD, action: 'stop', delivery: 'held' };
  const guards: Readonly<Record<Key, object>> = {
    locked: { defaults: stop, locked: 'all' },
    open: { defaults: GUARD },
    loose: { defaults: stop, locked: 'all', unscored: 'pass' },
  };
  const keys = KEYS.map((name) => ({
    name,
    guard: guards[name],
    requests_per_minute: 1_000_000,
    sha256: sha256(keyOf(name)).toString('hex'),
  }));
  const upstreams = [{ url: upstream.url }];
  const config = configSchema.parse({
    listen: { port: 0 },
    models: { m: { upstreams }, 'theirs-too': { upstreams, guard: { defaults: stop, locked: 'all' } } },
    access: { keys },
  });
  const { models: _, workers: __, ...own } = config;
  // A request that does not come whole is not waited for.
  const bounds = { headerMs: 500, bodyMs: 500 };
  const gateway = await startGateway({ models: new Models(models), config: own, policies: config, bounds });
  const close = async (): Promise<void> => {
    await gateway.close();
    for (const model of models) await model.close();
    await Promise.all([upstream.close(), other.close()]);
  };
  for (const key of KEYS)
    for (const model of ['m', 'theirs-too', 'free'])
      for (let i = 0; i < 15; i++)
        await (await ask(gateway.url, key, 'chat/completions', 'calm', { model })).text();
  return { url: gateway.url, upstream, other, close };
}

/** A request as an honest client of the key makes it, with fields of its own. */
export const bodyOf = (path: string, key: Key, words: string, fields: object = {}) => {
  const text = `key:${key} ${words}`;
  const messages = [{ role: 'user', content: text }];
  const own = path.endsWith('chat/completions')
    ? { messages }
    : path.endsWith('responses')
      ? { input: text }
      : { prompt: text };
  return { model: 'm', ...own, ...fields };
};

export const ask = (
  url: string,
  key: Key,
  path: string,
  words: string,
  fields: object = {},
): Promise<Response> =>
  fetch(`${url}/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keyOf(key)}` },
    body: JSON.stringify(bodyOf(path, key, words, fields)),
  });
