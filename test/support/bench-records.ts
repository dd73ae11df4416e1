import type { ResponseRecord } from '#bench/records/records.js';
import type { BenchProblem } from '#bench/suites/suite.js';

export const problemOf = (id: string, changes: Partial<BenchProblem> = {}): BenchProblem => ({
  ...{ id, subset: 's', question: id, reference: null, given: null },
  ...changes,
});

/** A response of these tokens, whose ids are their places. */
export const responseOf = (
  id: string,
  tokenTexts: string[],
  changes: Partial<ResponseRecord> = {},
): ResponseRecord => ({
  ...{ id, subset: 's', promptTokens: 1, tokenIds: tokenTexts.map((_, i) => i), tokenTexts },
  ...{ finish: 'stop', seconds: 1 },
  ...changes,
});

export const byId = <T extends { readonly id: string }>(all: readonly T[]): Map<string, T> =>
  new Map(all.map((one) => [one.id, one]));

/** One after the other, anew for each reader. */
export const inTurn = <T>(all: readonly T[]): AsyncIterable<T> => ({
  async *[Symbol.asyncIterator]() {
    yield* all;
  },
});
