import { ANSWER_KINDS } from 'flinch/internals';

/** How an answer may be checked: by the kind of its key, as one kind, as the same text, or by a regular expression. */
export const CHECKS = ['kind', ...ANSWER_KINDS, 'contains', 'exact', 'regex'] as const;
export type Check = (typeof CHECKS)[number];
