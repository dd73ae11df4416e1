/** Exports that are the same in browsers and in Node. */
export * from './answer.js';
export { answerOf } from './answer-of.js';
export type { ConnectionOptions, ConnectionState } from './client-connection.js';
export { type ClientErrorCode, FlinchError } from './client-errors.js';
export type { GenerationRequest, Message, MessagePart } from './client-request.js';
export type * from './flinch-metadata.js';
export type { GuardRequest, ScoringRequest } from './guard-request.js';
export type { Observable } from './observable.js';
export type {
  ErrorBody,
  EventOf,
  FinishReason,
  GenerationEvent,
  Method,
  Part,
  Rival,
  Scores,
  ServerEvent,
  UnknownEvent,
  Usage,
  Verdict,
} from './protocol-events.js';
export { ProtocolError, readEvent } from './read-event.js';
export type { ResumePoint } from './requests.js';
export * from './risk-scale.js';
export type { StreamOptions } from './stream-client.js';
export * from './token-queries.js';
export * from './verdict-words.js';
