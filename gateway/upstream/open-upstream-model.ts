import { pino } from 'pino';
import type { UpstreamModelConfig } from '../config/config.js';
import { ConfigError } from '../config/config-error.js';
import { Failover, type FailoverOptions } from './failover.js';
import type { Scorer } from './scorer.js';
import { UpstreamModel } from './upstream-model.js';
import { UpstreamServer } from './upstream-server.js';

export interface UpstreamModelOptions extends Partial<FailoverOptions> {
  /** Scores what the servers write; stays the caller's, with its engine. */
  readonly scorer?: Scorer;
  /** Where the keys are. */
  readonly env?: Readonly<Record<string, string | undefined>>;
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
  const { env = process.env, logger = pino({ level: 'silent' }), scorer = null, ...rest } = options;
  const servers = config.upstreams.map(({ url, model = name, key_env }, i) => {
    const key = key_env === undefined ? null : env[key_env];
    if (key === undefined || key === '')
      throw new ConfigError(`models.${name}.upstreams[${i}].key_env`, `the variable ${key_env} is not set`);
    const { timeouts, limits } = config;
    return new UpstreamServer({ url, model, key, timeouts, limits, ...(rest.now && { now: rest.now }) });
  });
  const bound = logger.child({ model: name });
  const failover = new Failover(servers, { retries: config.retries, logger: bound, ...rest });
  const model = new UpstreamModel(name, failover, {
    maxStreams: config.max_streams,
    logger: bound,
    scorer,
  });
  model.refresh();
  return model;
}
