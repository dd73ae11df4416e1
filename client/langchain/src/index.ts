export type { GuardRequest } from 'flinch-client';
export type { FlinchEvent, FlinchMetadata, FlinchToken } from './answer-record.js';
export { ChatFlinch, type ChatFlinchFields, flinchOf } from './chat-flinch.js';
