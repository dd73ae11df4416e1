import type { CaseToken } from './document.js';

/** Neighbouring tokens that are alike in being of what is wrong or not: from, and up to but without. */
export interface TokenRun {
  readonly from: number;
  readonly to: number;
  readonly wrong: boolean;
  /** White space at the end of a wrong one, which its mark leaves out: a line break would take the mark along. */
  readonly tail: string;
}

export function tokenRuns(tokens: readonly CaseToken[]): TokenRun[] {
  const starts = tokens.flatMap(({ wrong }, i) => (i === 0 || tokens[i - 1]?.wrong !== wrong ? [i] : []));
  return starts.map((from, i) => {
    const to = starts[i + 1] ?? tokens.length;
    const { text, wrong } = tokens[to - 1]!;
    return { from, to, wrong, tail: wrong ? text.slice(text.trimEnd().length) : '' };
  });
}
