/** Exports that are the same in browsers and in Node. */
export * from './answer.js';
export { answerOf } from './answer-of.js';
export type { ConnectionOptions, ConnectionState } from './connection.js';
export { type ClientErrorCode, FlinchError } from './errors.js';
export type { GuardRequest } from './guard-request.js';
export {
  type ErrorBody,
  type EventOf,
  type FinishReason,
  type GenerationEvent,
  type Method,
  ProtocolError,
  type Rival,
  readEvent,
  type Scores,
  type ServerEvent,
  type UnknownEvent,
  type Usage,
} from './protocol.js';
export type { GenerationRequest, Message } from './requests.js';
export type { StreamOptions } from './stream-client.js';
