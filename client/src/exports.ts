/** Exports that are the same in browsers and in Node. */
export * from './answer.js';
export { answerOf } from './answer-of.js';
export type { ConnectionOptions, ConnectionState } from './connection.js';
export { type ClientErrorCode, FlinchError } from './errors.js';
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
} from './events.js';
export type * from './flinch-metadata.js';
export type { GenerationRequest, Message, MessagePart } from './generation-request.js';
export type { GuardRequest, ScoringRequest } from './guard-request.js';
export type { Observable } from './observable.js';
export { ProtocolError, readEvent } from './read-event.js';
export type { ResumePoint } from './requests.js';
export * from './risk-scale.js';
export type { StreamOptions } from './stream-client.js';
export * from './token-queries.js';
