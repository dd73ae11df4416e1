import type { Relation } from '../uncertainty/ccp.js';

export type TextPair = readonly [string, string];

/** Models of language that measures ask beside the one that writes; `null` where none is given. */
export interface Encoders {
  /** What the first text of each pair says about the second: natural language inference. */
  readonly relate: ((pairs: readonly TextPair[]) => Promise<Relation[]>) | null;
  /** How alike the texts of each pair are in meaning, 0 to 1. */
  readonly compare: ((pairs: readonly TextPair[]) => Promise<number[]>) | null;
  /** A vector of length 1 for each text, `[text][dimension]`. */
  readonly embed: ((texts: readonly string[]) => Promise<number[][]>) | null;
}

export const NO_ENCODERS: Encoders = { relate: null, compare: null, embed: null };
