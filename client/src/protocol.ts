/** `flinch-client/protocol`: `flinch.v1` for servers and tools. Its schemas need the user's zod. */

export { DEFAULT_METHODS, PROBABILITY_METHODS } from './client-methods.js';
export { type ChunkFindings, CompletionRecord } from './completion-record.js';
export { CHUNK_FLINCH, COMPLETION_EVENT, WHOLE_FLINCH } from './flinch-field.js';
export type * from './flinch-metadata.js';
export * from './protocol-events.js';
export { ProtocolError, readEvent } from './read-event.js';
export { type ByteStream, readText } from './read-text.js';
export { isTransient } from './reconnect-codes.js';
export { CONNECTION_EVENTS, GENERATION_EVENTS, NAMED_SCHEMAS } from './schemas.js';
