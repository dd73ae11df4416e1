/// <reference types="node" preserve="true" />

/**
 * `flinch/state`: what flinch-redis makes of gateways that share a state, and what it needs for that. Not for other
 * packages: names may change in any release.
 */
export type { Logger } from 'pino';
/** Exported here because {@link consume} recognises its answers by their class. */
export { RateLimiterRedis } from 'rate-limiter-flexible';
export type { Principal } from '../access/principal.js';
export { newTicket, TICKET_MS, type TicketStore, ticketHash } from '../access/tickets.js';
export { consume, type KeyUsage, type Release } from '../access/usage.js';
export { ApiError } from '../errors/api-error.js';
export type { Publication, Published, Resumed, ResumePoint } from '../generations/elsewhere.js';
export type { Reader, ReadGeneration, Sink } from '../generations/live-generation.js';
export { HISTORY_BYTES, type LiveGenerations } from '../generations/live-generations.js';
export { type LostCode, lostError } from '../generations/lost.js';
export { RemoteGeneration, type RemoteOptions } from '../generations/remote-generation.js';
export type { CommandFailure, OpenState, SharedGenerations, State, StateOptions } from './state.js';
