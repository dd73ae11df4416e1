export type { FlinchStep, FlinchVerdict } from 'flinch-ai-sdk';
export { FlaggedText } from './flagged-text.js';
export type { MessagePart, ScoredText } from './message-answers.js';
export { useFlinch } from './use-flinch.js';
