export type {
  FlinchMetadata,
  FlinchToken,
  FlinchVerdict,
  GuardRequest,
  NoVerdict,
  Verdict,
} from 'flinch-client';
export type { FlinchAnswerVerdict, FlinchDataPart, FlinchDataParts, FlinchStep } from './data-parts.js';
export { flinchMetadata } from './metadata.js';
export {
  type FlinchMiddleware,
  type FlinchMiddlewareOptions,
  flinchMiddleware,
} from './scoring-middleware.js';
