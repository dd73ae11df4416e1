import { pino } from 'pino';
import type { UpstreamModelConfig } from '../config/config.js';
import { ConfigError } from '../config/config-error.js';
import { isHeaderValue, notSent } from '../config/header-value.js';
import { ownPlaces, type Places } from '../models/places.js';
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
  readonly places?: Places;
}

/**
 * A model that the configuration gives upstreams. It is there at once; the servers are asked what they can do in the
 * meantime, and may be down.
 * @throws ConfigError that names the environment variable, for a key that is not there
 */
export function openUpstreamModel(
  name: string,
  config: UpstreamModelConfig,
  options: UpstreamModelOptions = {},
): UpstreamModel {
  const { env = process.env, logger = pino({ level: 'silent' }), scorer = null, places, ...rest } = options;
  const servers = config.upstreams.map((upstream, i) => {
    const { url, model = name } = upstream;
    const { timeouts, limits } = config;
    const credentials = credentialsOf(upstream, env, `models.${name}.upstreams[${i}]`);
    return new UpstreamServer({
      url,
      model,
      ...credentials,
      timeouts,
      limits,
      ...(rest.now && { now: rest.now }),
    });
  });
  const bound = logger.child({ model: name });
  const failover = new Failover(servers, { retries: config.retries, logger: bound, ...rest });
  const model = new UpstreamModel(name, failover, {
    places: places ?? ownPlaces(config.max_streams),
    strict: config.strict,
    passthrough: config.passthrough,
    logger: bound,
    scorer,
  });
  model.inside.upstream?.look();
  return model;
}

/**
 * Credentials that are sent to a server.
 * @param place of the server in the configuration
 * @throws ConfigError that names the environment variable, for one that is not set
 */
export function credentialsOf(
  { key_env, headers }: UpstreamModelConfig['upstreams'][number],
  env: Readonly<Record<string, string | undefined>>,
  place: string,
): Pick<UpstreamServerOptions, 'key' | 'headers' | 'secrets'> {
  const read = (variable: string, field: string): string => {
    const value = env[variable];
    if (!value) throw new ConfigError(`${place}.${field}`, `the variable ${variable} is not set`);
    if (!isHeaderValue(value)) throw new ConfigError(`${place}.${field}`, notSent(variable));
    return value;
  };
  const entries = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    typeof value === 'string' ? value : read(value.env, `headers.${name}.env`),
  ]);
  const secrets = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [] : read(value.env, `headers.${name}.env`),
  );
  const key = key_env === undefined ? null : read(key_env, 'key_env');
  return { key, headers: Object.fromEntries(entries), secrets };
}
