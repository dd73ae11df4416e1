import { pino } from 'pino';
import type { UpstreamModelConfig } from '../config/config.js';
import { readHeaderSecret, type SecretSource } from '../config/secret.js';
import { ownSlots, type Slots } from '../models/slots.js';
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
  options: UpstreamModelOptions = {},
): UpstreamModel {
  const { logger = pino({ level: 'silent' }), scorer = null, slots } = options;
  const bound = logger.child({ model: name });
  const model = new UpstreamModel(name, openFailover(name, config, { ...options, logger: bound }), {
    slots: slots ?? ownSlots(config.max_streams),
    strict: config.strict,
    passthrough: config.passthrough,
    logger: bound,
    scorer,
  });
  model.inside.upstream?.look();
  return model;
}

/**
 * The servers of a model.
 * @throws ConfigError as {@link openUpstreamModel}
 */
export function openFailover(
  name: string,
  config: UpstreamModelConfig,
  {
    env = process.env,
    logger = pino({ level: 'silent' }),
    ...rest
  }: Omit<UpstreamModelOptions, 'scorer' | 'places'> = {},
): Failover {
  const servers = config.upstreams.map((upstream, i) => {
    const { url, model = name } = upstream;
    const { timeouts } = config;
    const credentials = credentialsOf(upstream, env, `models.${name}.upstreams[${i}]`);
    return new UpstreamServer({
      url,
      model,
      ...credentials,
      timeouts,
      ...(rest.now && { now: rest.now }),
    });
  });
  return new Failover(servers, { retries: config.retries, logger, ...rest });
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
