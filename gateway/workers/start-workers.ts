import type { Logger } from 'pino';
import type { Engine } from '../../src/engine/engine.js';
import { Tickets } from '../access/tickets.js';
import { OwnUsage } from '../access/usage.js';
import type { Config } from '../config/gateway-config.js';
import type { Reloading } from '../gateway.js';
import type { Metrics } from '../metrics/metrics.js';
import type { IdleCalibrations } from '../models/idle-calibrations.js';
import { hasEngine, openEngine } from '../open-models.js';
import type { Gateway } from '../start-gateway.js';
import { WorkerPool } from './worker-pool.js';

export interface WorkersOptions {
  readonly config: Config & { readonly models: NonNullable<Config['models']> };
  readonly logger: Logger;
  /** Metrics of this process. */
  readonly metrics: Metrics;
  /** Calibrations that clients may start. Several processes have none: each would see its own requests alone. */
  readonly calibrations?: IdleCalibrations;
}

/** A gateway of several processes. */
export interface Workers extends Pick<Gateway, 'url' | 'drain' | 'close'> {
  /** Engines of the models that have one. */
  readonly engines: ReadonlyMap<string, Engine>;
  /**
   * @returns once all workers have it
   * @throws ConfigError as `Gateway.reload`
   */
  reload(changed: Reloading): Promise<void>;
}

/**
 * Starts `config.workers` processes that serve one port, each a whole gateway. This process serves nothing: it has what
 * must be one, which are the engines, the limits and the tickets, and starts workers again that die.
 * @throws what opening the engines throws, and what keeps a worker from serving
 */
export async function startWorkers({ config, logger, metrics }: WorkersOptions): Promise<Workers> {
  const engines = await openEngines(config, logger);
  const closeEngines = async (): Promise<void> => {
    await Promise.all([...engines.values()].map((engine) => engine.close()));
  };
  const pool = new WorkerPool({
    config,
    logger,
    metrics,
    shared: { usage: new OwnUsage(), tickets: new Tickets(Date.now), engines },
  });
  const close = async (): Promise<void> => {
    await pool.close();
    await closeEngines();
  };
  try {
    const { url } = await pool.start();
    return {
      url,
      engines,
      close,
      reload: (changed) => pool.reload(changed),
      drain: () => pool.drain(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openEngines(
  { models }: WorkersOptions['config'],
  logger: Logger,
): Promise<ReadonlyMap<string, Engine>> {
  const opening = Object.entries(models).flatMap(([name, model]) =>
    hasEngine(model) ? [openEngine(name, model, { logger }).then((engine) => [name, engine] as const)] : [],
  );
  const settled = await Promise.allSettled(opening);
  const engines = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) {
    await Promise.all(engines.map(([, engine]) => engine.close()));
    throw failed.reason;
  }
  return new Map(engines);
}
