/// <reference types="node" preserve="true" />

/** The gateway: serves models over HTTP, Server-Sent Events and WebSocket. */
export { checkAccess } from './access/access.js';
export type { Asked } from './answers/asked.js';
export { Models } from './answers/models.js';
export type {
  Answer,
  Guarding,
  Judge,
  ModelInside,
  ModelStatus,
  Prepared,
  ServedModel,
  Source,
} from './answers/served-model.js';
export { ConfigError } from './config/config-error.js';
export type { Config, ConfigInput } from './config/gateway-config.js';
export {
  createGateway,
  type GatewayParts,
  type MountedGateway,
  type MountedGatewayOptions,
} from './gateway.js';
export { LiveGenerations } from './generations/live-generations.js';
export { Metrics } from './metrics/metrics.js';
export { EngineModel } from './models/engine-model.js';
export { type IdleCalibration, IdleCalibrations } from './models/idle-calibrations.js';
export { checkModels, type OpenModel, type OpenModels, openModels } from './open-models.js';
export { type Gateway, type GatewayOptions, startGateway } from './start-gateway.js';
export { loadState } from './state/load-state.js';
export type { OpenState } from './state/state.js';
export { exportTraces } from './tracing/export-traces.js';
export { readTraceVariables } from './tracing/otel-variables.js';
export { openUpstreamModel, type UpstreamModelOptions } from './upstream/open-upstream-model.js';
export { UpstreamModel } from './upstream/upstream-model.js';
export { checkWebhooks } from './webhooks/webhooks.js';
export { startWorkers, type Workers, type WorkersOptions } from './workers/start-workers.js';
