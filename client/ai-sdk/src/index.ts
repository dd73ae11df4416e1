export type { GuardRequest, Verdict } from 'flinch-client';
export type { FlinchAnswerVerdict, FlinchDataPart, FlinchDataParts, FlinchStep } from './data-parts.js';
export {
  type FlinchMetadata,
  type FlinchToken,
  type FlinchVerdict,
  flinchMetadata,
  type NoVerdict,
} from './metadata.js';
export { type FlinchMiddleware, type FlinchMiddlewareOptions, flinchMiddleware } from './middleware.js';
