export type {
  FlinchEvent,
  FlinchMetadata,
  FlinchToken,
  FlinchVerdict,
  GuardRequest,
  NoVerdict,
  Verdict,
} from 'flinch-client';
export { ChatFlinch, type ChatFlinchFields, flinchOf } from './chat-flinch.js';
