/** What a key is, by which answers are compared with it. */
export const ANSWER_KINDS = ['number', 'yes-no', 'choice', 'date', 'list', 'name', 'text'] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];
