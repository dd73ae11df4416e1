import type { z } from 'zod';
import type { Answer } from './answers.js';
import { type Deviation, deviation } from './deviation.js';
import type { FlinchAnswer, FlinchQuestion } from './flinch-measures.js';
import type { POLYGRAPH, THINKBOOSTER, UQLM } from './peer-scripts.js';

/** One line of the table of agreement. */
export interface Row {
  readonly peer: string;
  /** The peer's name of the measure. */
  readonly measure: string;
  /** Formula of flinch's number, or the measure itself. */
  readonly ours: string;
  readonly of: 'tokens' | 'answers' | 'questions' | 'clusters';
  readonly deviation: Deviation;
}

export interface Results {
  readonly answers: readonly Answer[];
  /** Scores of each answer. */
  readonly flinch: readonly FlinchAnswer[];
  /** Scores of questions with further samples. */
  readonly questions: ReadonlyMap<number, FlinchQuestion>;
  readonly polygraph: readonly z.output<typeof POLYGRAPH>[];
  readonly uqlm: readonly z.output<typeof UQLM>[];
  readonly thinkbooster: readonly z.output<typeof THINKBOOSTER>[];
}

type Having<T, K extends string> = Extract<T, Record<K, unknown>>;

/** Results that have a field. */
export const having = <T extends object, K extends string>(results: readonly T[], field: K): Having<T, K>[] =>
  results.filter((result): result is Having<T, K> => field in result);

/** Results of a peer for answers, with the answers and flinch's results. */
export function joined<T extends { readonly question: number; readonly sample: number }>(
  { answers, flinch }: Results,
  results: readonly T[],
): { readonly answer: Answer; readonly flinch: FlinchAnswer; readonly peer: T }[] {
  return results.map((peer) => {
    const i = answers.findIndex(
      ({ question, sample }) => question === peer.question && sample === peer.sample,
    );
    const [answer, own] = [answers[i], flinch[i]];
    if (!answer || !own) throw new RangeError(`no answer ${peer.question}, ${peer.sample}`);
    return { answer, flinch: own, peer };
  });
}

/** Makes rows of one peer from what is compared, and what each program says of it. */
export const rowsFor =
  (peer: string) =>
  <T>(
    measure: string,
    ours: string,
    of: Row['of'],
    items: readonly T[],
    mine: (item: T) => number,
    theirs: (item: T) => number,
  ): Row => ({ peer, measure, ours, of, deviation: deviation(items.map(mine), items.map(theirs)) });
