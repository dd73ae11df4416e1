/** What the client is in browsers and in Node alike. */
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
  Rival,
  Scores,
  ServerEvent,
  UnknownEvent,
  Usage,
} from './events.js';
export type { Observable } from './observable.js';
export { ProtocolError, readEvent } from './read-event.js';
export type { GenerationRequest, GuardRequest, Message } from './requests.js';
export type { StreamOptions } from './stream-client.js';
