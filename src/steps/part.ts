/** What of an answer is not its text. */
export type Part = 'reasoning' | 'tool_calls';

/** Which part of an answer a token belongs to; not there for its text. */
export interface PartOf {
  readonly part?: Part;
  /** Which of several tool calls, as the server counts them. */
  readonly call?: number;
}

/** Steps and passes end where this changes. */
export const samePart = (a: PartOf, b: PartOf): boolean => a.part === b.part && a.call === b.call;
