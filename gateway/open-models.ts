import type { Logger } from 'pino';
import { Engine } from '../src/engine/engine.js';
import type { CheckpointConfig, Config, UpstreamModelConfig } from './config.js';
import { ConfigError } from './config-layer.js';
import { EngineModel } from './engine-model.js';
import type { Metrics } from './metrics.js';
import { Models } from './models.js';
import type { ServedModel } from './served-model.js';

export interface OpenOptions {
  readonly logger: Logger;
  /** Where the configuration's variables with keys are. */
  readonly env: NodeJS.ProcessEnv;
  readonly metrics: Metrics;
}

export interface OpenModel {
  readonly model: ServedModel;
  /** Of a checkpoint. */
  readonly engine: Engine | null;
  close(): Promise<void>;
}

export interface OpenModels {
  readonly models: Models;
  readonly all: readonly OpenModel[];
  close(): Promise<void>;
}

/**
 * Opens and starts the models of a configuration, all at once. If one fails, none stays open.
 * @throws what opening the first of those that failed throws: ModelError, EngineError, ConfigError
 */
export async function openModels(
  config: NonNullable<Config['models']>,
  options: OpenOptions,
): Promise<OpenModels> {
  const opening = Object.entries(config).map(([name, model]) =>
    'checkpoint' in model ? openCheckpointModel(name, model, options) : openUpstream(name, model, options),
  );
  const settled = await Promise.allSettled(opening);
  const all = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(all.map((model) => model.close()));
  };
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) {
    await close();
    throw failed.reason;
  }
  return { models: new Models(all.map(({ model }) => model)), all, close };
}

async function openCheckpointModel(
  name: string,
  { checkpoint, device, max_streams: maxStreams, memory }: CheckpointConfig,
  { logger }: OpenOptions,
): Promise<OpenModel> {
  const limit = memory === undefined ? {} : { memoryLimit: memory };
  const engine = await Engine.open(checkpoint, { device, maxStreams, ...limit });
  try {
    await engine.start();
    const model = await EngineModel.open(name, engine, logger);
    return { model, engine, close: () => engine.close() };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

// MERGE: openUpstreamModel(name, config, {logger, env, metrics}) of gateway/upstream takes this place.
async function openUpstream(
  name: string,
  _config: UpstreamModelConfig,
  _options: OpenOptions,
): Promise<OpenModel> {
  throw new ConfigError(`models.${name}`, 'upstreams are not available yet');
}
