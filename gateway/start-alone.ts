import { openModels } from './open-models.js';
import { startGateway } from './start-gateway.js';
import { exportTraces } from './tracing/export-traces.js';
import type { Workers, WorkersOptions } from './workers/start-workers.js';

/** The same as `startWorkers`, in this process. */
export async function startAlone({
  config,
  logger,
  metrics,
  calibrations,
}: WorkersOptions): Promise<Workers> {
  const { models: modelConfigs, ...rest } = config;
  const { env } = process;
  const traces = await exportTraces({ env, logger, dropped: (...spans) => metrics.spansDropped(...spans) });
  const { models, all, close } = await openModels(modelConfigs, { logger, env, metrics });
  try {
    const gateway = await startGateway({
      models,
      config: rest,
      policies: config,
      logger,
      metrics,
      calibrations,
    });
    const engines = new Map(all.flatMap((one) => (one.engine ? [[one.model.name, one.engine]] : [])));
    return {
      ...gateway,
      engines,
      reload: async (changed) => gateway.reload(changed),
      drain: async () => {
        await gateway.drain();
        await traces?.close();
      },
      close: async () => {
        await gateway.close();
        await close();
        traces?.leave();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
