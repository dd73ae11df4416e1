/** `flinch-client/protocol`: `flinch.v1` for servers and tools. Its schemas need the user's zod. */
export { isTransient } from './close-codes.js';
export * from './events.js';
export { ProtocolError, readEvent } from './read-event.js';
export { CONNECTION_EVENTS, GENERATION_EVENTS } from './schemas.js';
