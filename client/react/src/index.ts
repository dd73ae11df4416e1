export type { FlinchStep, FlinchVerdict } from 'flinch-ai-sdk';
export { AnswerText, type AnswerTextProps } from './answer-text.js';
export { FlaggedText } from './flagged-text.js';
export type { MessagePart, ScoredText } from './message-answers.js';
export { struckBefore, type TokenLook, tokenLooks } from './token-looks.js';
export { boxOf, type TokenHandlers, useTokenNavigation } from './token-navigation.js';
export { useFlinch } from './use-flinch.js';
