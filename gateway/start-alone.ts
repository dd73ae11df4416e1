import type { Config } from './config/gateway-config.js';
import type { Commons, GatewayParts, Reloading } from './gateway.js';
import { type OpenOptions, openModels } from './open-models.js';
import { startGateway } from './start-gateway.js';
import { exportTraces } from './tracing/export-traces.js';
import type { Workers, WorkersOptions } from './workers/start-workers.js';

interface ProcessOptions extends Omit<OpenOptions, 'env'>, Pick<GatewayParts, 'calibrations'> {
  readonly config: Config;
  /** Parts of the configuration as they were last reloaded. */
  readonly reloaded: Reloading;
  readonly commons?: Commons;
}

/** A gateway with its models and the export of its traces: all of one process. */
export async function startProcess({
  config,
  reloaded,
  shared,
  commons,
  calibrations,
  logger,
  metrics,
}: ProcessOptions) {
  const { models: modelConfigs = {}, workers: _, ...rest } = config;
  const { env } = process;
  const traces = await exportTraces({ env, logger, dropped: (...spans) => metrics.spansDropped(...spans) });
  const opened = await openModels(modelConfigs, { logger, env, metrics, ...(shared && { shared }) });
  try {
    const gateway = await startGateway({
      models: opened.models,
      config: { ...rest, access: reloaded.access },
      policies: reloaded,
      logger,
      metrics,
      calibrations,
      ...(commons && { commons }),
    });
    const drain = async (): Promise<void> => {
      await gateway.drain();
      await traces?.close();
    };
    const close = async (): Promise<void> => {
      await gateway.close();
      await opened.close();
      traces?.leave();
    };
    return { gateway, opened, drain, close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** The same as `startWorkers`, in this process. */
export async function startAlone(options: WorkersOptions): Promise<Workers> {
  const { gateway, opened, drain, close } = await startProcess({ ...options, reloaded: options.config });
  const engines = new Map(opened.all.flatMap((one) => (one.engine ? [[one.model.name, one.engine]] : [])));
  return { url: gateway.url, engines, reload: async (changed) => gateway.reload(changed), drain, close };
}
