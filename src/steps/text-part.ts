/** Parts of an answer that are not its text. */
export type Part = 'reasoning' | 'tool_calls';

/** Part of an answer that a token belongs to; absent for its text. */
export interface PartOf {
  readonly part?: Part;
  /** Index of the tool call, as the server counts them. */
  readonly call?: number;
}

/** Steps and passes end where this changes. */
export const samePart = (a: PartOf, b: PartOf): boolean => a.part === b.part && a.call === b.call;
