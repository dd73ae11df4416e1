/** The gateway: models of flinch behind HTTP, Server-Sent Events and WebSocket. */
export { type AppOptions, createApp } from './app.js';
export { Models } from './models.js';
export { type Gateway, type GatewayOptions, startGateway } from './server.js';
