/** The gateway: models of flinch behind HTTP, Server-Sent Events and WebSocket. */
export { type AppOptions, createApp } from './app.js';
export { EngineModel } from './engine-model.js';
export { Models } from './models.js';
export type { ModelStatus, Prepared, PrepareOptions, ServedModel } from './served-model.js';
export { type Gateway, type GatewayOptions, startGateway } from './server.js';
export { openUpstreamModel, UpstreamModel, type UpstreamModelOptions } from './upstream/upstream-model.js';
