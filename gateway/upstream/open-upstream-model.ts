import { pino } from 'pino';
import { ownSlots, type Slots } from '../answers/slots.js';
import type { UpstreamModelConfig } from '../config/models-section.js';
import { readHeaderSecret, type SecretSource } from '../config/secret.js';
import type { Scorer } from './scoring/scorer.js';
import { Failover, type FailoverOptions } from './servers/failover.js';
import { UpstreamServer, type UpstreamServerOptions } from './servers/upstream-server.js';
import { UpstreamModel } from './upstream-model.js';

export interface UpstreamModelOptions extends Partial<FailoverOptions> {
  /** Scores what the servers write; stays the caller's, with its engine. */
  readonly scorer?: Scorer;
  /** Environment with the keys. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Places of the model; by default `max_streams` for this model alone. */
  readonly slots?: Slots;
}

/**
 * A model that the configuration gives upstreams. It is there at once; the servers are asked what they can do in the
 * meantime, and may be down.
 * @throws ConfigError that names the variable or the file, for a key that is not there
 */
export function openUpstreamModel(
  name: string,
  config: UpstreamModelConfig,
  { env = process.env, logger, scorer, slots, ...options }: UpstreamModelOptions = {},
): UpstreamModel {
  const { timeouts, retries, passthrough, max_streams } = config;
  const servers = config.upstreams.map((upstream, i) => {
    const { url, model = name } = upstream;
    const credentials = credentialsOf(upstream, env, `models.${name}.upstreams[${i}]`);
    return new UpstreamServer({
      url,
      model,
      ...credentials,
      timeouts,
      ...(options.now && { now: options.now }),
    });
  });
  const bound = (logger ?? pino({ level: 'silent' })).child({ model: name });
  const failover = new Failover(servers, { retries, ...options, logger: bound });
  const model = new UpstreamModel(name, failover, {
    slots: slots ?? ownSlots(max_streams),
    passthrough,
    scorer: scorer ?? null,
  });
  failover.look();
  return model;
}

/**
 * Credentials that are sent to a server.
 * @param place of the server in the configuration
 * @throws ConfigError that names the variable or the file, for one that is not there
 */
export function credentialsOf(
  { key_env, key_file, headers }: UpstreamModelConfig['upstreams'][number],
  env: Readonly<Record<string, string | undefined>>,
  location: string,
): Pick<UpstreamServerOptions, 'key' | 'headers' | 'secrets'> {
  const read = (from: SecretSource, field: string): string =>
    readHeaderSecret(from, env, `${location}.${field}`).text;
  const secrets: string[] = [];
  const entries = Object.entries(headers).map(([name, value]) => {
    if (typeof value === 'string') return [name.toLowerCase(), value];
    const secret = read(value, `headers.${name}.${'env' in value ? 'env' : 'file'}`);
    secrets.push(secret);
    return [name.toLowerCase(), secret];
  });
  const none = key_env === undefined && key_file === undefined;
  const field = key_file === undefined ? 'key_env' : 'key_file';
  const key = none ? null : read({ env: key_env, file: key_file }, field);
  return { key, headers: Object.fromEntries(entries), secrets };
}
