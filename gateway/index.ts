/** The gateway: models of flinch behind HTTP, Server-Sent Events and WebSocket. */
export { checkAccess } from './access/access.js';
export type { Config, ConfigInput } from './config.js';
export { ConfigError } from './config-layer.js';
export { EngineModel } from './engine-model.js';
export {
  createGateway,
  type GatewayParts,
  type MountedGateway,
  type MountedGatewayOptions,
} from './gateway.js';
export { LiveGenerations } from './live-generations.js';
export { Metrics } from './metrics/metrics.js';
export { Models } from './models.js';
export { checkModels, type OpenModel, type OpenModels, openModels } from './open-models.js';
export type { ModelInside, ModelStatus, Prepared, PrepareOptions, ServedModel } from './served-model.js';
export { type Gateway, type GatewayOptions, startGateway } from './server.js';
export { openUpstreamModel, UpstreamModel, type UpstreamModelOptions } from './upstream/upstream-model.js';
