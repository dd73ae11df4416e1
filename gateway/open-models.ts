import type { Logger } from 'pino';
import { checkModel, openCheckpoint } from '../src/checkpoint/checkpoint.js';
import type { Conversion } from '../src/checkpoint/conversion.js';
import { MEASURED_TEXTS } from '../src/cost/scoring-speed.js';
import { Engine, type EngineOptions } from '../src/engine/engine.js';
import type { Role } from '../src/engine/engine-messages.js';
import type { EngineHost } from '../src/engine/host.js';
import { readRecordedScores } from '../src/engine/server/score-servers.js';
import { userCache } from '../src/files/cache-folder.js';
import { Models } from './answers/models.js';
import type { ServedModel } from './answers/served-model.js';
import { ownSlots, type Slots } from './answers/slots.js';
import type { Config } from './config/gateway-config.js';
import type { CheckpointConfig, UpstreamModelConfig } from './config/models-section.js';
import type { Metrics } from './metrics/metrics.js';
import { EngineModel } from './models/engine-model.js';
import { credentialsOf, openUpstreamModel } from './upstream/open-upstream-model.js';
import { Scorer } from './upstream/scoring/scorer.js';
import type { UpstreamErrorCode } from './upstream/upstream-error.js';

export interface OpenOptions {
  readonly logger: Logger;
  /** Environment with the configuration's variables for keys. */
  readonly env: NodeJS.ProcessEnv;
  readonly metrics: Metrics;
  /** Engines and places shared with the other workers of the port. */
  readonly shared?: SharedModels;
}

export interface SharedModels {
  /** Host of the engine processes of a model. */
  readonly host: (model: string) => EngineHost;
  /** Places for `most` generations of a model. */
  readonly slots: (model: string, most: number) => Slots;
}

export interface OpenModel {
  readonly model: ServedModel;
  /** Engine of a checkpoint. */
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

/**
 * Finds faults that would keep models from being opened, as far as they show without weights, devices and upstreams.
 * @throws ModelError for a folder that is no checkpoint, ConfigError for a key whose variable is not set
 */
export async function checkModels(
  config: NonNullable<Config['models']>,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  for (const [name, model] of Object.entries(config)) {
    if ('checkpoint' in model) {
      await checkModel(model.checkpoint);
      continue;
    }
    for (const [i, upstream] of model.upstreams.entries()) {
      credentialsOf(upstream, env, `models.${name}.upstreams[${i}]`);
    }
    if (model.scorer_url && model.scorer !== undefined) {
      await readRecordedScores(await openCheckpoint(model.scorer));
    } else if (model.scorer !== undefined) await checkModel(model.scorer);
  }
}

async function openCheckpointModel(
  name: string,
  config: CheckpointConfig,
  options: OpenOptions,
): Promise<OpenModel> {
  const { logger } = options;
  const engine = await openEngine(name, config, options);
  try {
    const model = await EngineModel.open(name, engine, logger, slotsOf(name, config, options));
    return { model, engine, close: () => engine.close() };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/**
 * Starts the engine of a model that has one: of its checkpoint, or of its scorer, of which only the score side is
 * needed, because the servers write.
 */
export async function openEngine(
  name: string,
  config: CheckpointConfig | (UpstreamModelConfig & { readonly scorer: string }),
  { logger, shared }: Pick<OpenOptions, 'logger' | 'shared'>,
): Promise<Engine> {
  const { device, max_streams: most, memory, calibration } = config;
  const [folder, roles] = 'checkpoint' in config ? [config.checkpoint, ROLES] : [config.scorer, SCORER_ROLES];
  const engine = await Engine.open(folder, {
    scoresOnly: roles === SCORER_ROLES,
    device,
    onConversion: logConversion(name, logger),
    calibrationFile: calibration,
    onWarning: (warning) => logger.warn({ model: name }, warning),
    // Slots bound the responses of clients; those that are measured at the start come on top.
    maxStreams: most + ('checkpoint' in config ? 1 : MEASURED_TEXTS),
    ...(config.precision && { precision: config.precision }),
    ...(memory !== undefined && { memoryLimit: memory }),
    ...scoreServersOf(config),
    ...(shared && { host: shared.host(name) }),
  });
  try {
    await engine.start(roles);
    logLosses(engine, name, logger);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Servers that score in place of a process of this gateway. */
function scoreServersOf(config: CheckpointConfig | UpstreamModelConfig): Pick<EngineOptions, 'scoreServers'> {
  if (!('scorer_url' in config) || !config.scorer_url || config.scorer_model === undefined) return {};
  return { scoreServers: { urls: config.scorer_url, model: config.scorer_model } };
}

/** Whether a model has one. */
export const hasEngine = (
  config: CheckpointConfig | UpstreamModelConfig,
): config is CheckpointConfig | (UpstreamModelConfig & { readonly scorer: string }) =>
  'checkpoint' in config || config.scorer !== undefined;

const ROLES: readonly Role[] = ['decode', 'score'];
const SCORER_ROLES: readonly Role[] = ['score'];

const slotsOf = (
  name: string,
  { max_streams: most }: CheckpointConfig | UpstreamModelConfig,
  { shared }: OpenOptions,
): Slots => shared?.slots(name, most) ?? ownSlots(most);

/** Once, when it begins: it takes a second for 50 MB or so, and models are opened before the port. */
function logConversion(model: string, logger: Logger): (progress: Conversion) => void {
  const started = new Set<string>();
  return ({ file, folder, total }) => {
    if (started.has(folder)) return;
    started.add(folder);
    const [facts, cache] = [{ model, file, folder, bytes: total }, userCache()];
    if (folder.startsWith(cache)) logger.info(facts, 'converting weights');
    else
      logger.warn(
        { ...facts, cache },
        'converting weights into temporary files: the cache cannot be written',
      );
  };
}

const LOSSES = {
  died: 'engine process died',
  stalled: 'engine process stalled and was killed',
  unavailable: 'engine process cannot be started',
  server_lost: 'inference server is not used',
  graphs_lost: 'engine process runs without CUDA graphs, which is slower',
} as const;

function logLosses(engine: Engine, model: string, logger: Logger): void {
  engine.onLoss(({ role, what, reason }) => logger.error({ model, process: role, reason }, LOSSES[what]));
}

async function openUpstream(
  name: string,
  config: UpstreamModelConfig,
  opening: OpenOptions,
): Promise<OpenModel> {
  const { logger, env, metrics } = opening;
  const failed = (code: UpstreamErrorCode): void => metrics.upstreamError(name, code);
  const options = { logger, env, failed, slots: slotsOf(name, config, opening) };
  if (!hasEngine(config)) {
    const model = openUpstreamModel(name, config, options);
    return { model, engine: null, close: () => model.close() };
  }
  const engine = await openEngine(name, config, opening);
  try {
    const scorer = await Scorer.open(engine, {
      logger: logger.child({ model: name }),
      onMismatch: () => metrics.scorerMismatch(name),
    });
    const model = openUpstreamModel(name, config, { ...options, scorer });
    const close = async (): Promise<void> => {
      await Promise.all([model.close(), engine.close()]);
    };
    return { model, engine, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}
