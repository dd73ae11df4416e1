import { auroc, aurocDifference, type Estimated, type Scored } from '../numerics/roc.js';
import { isProbability, type Method } from '../uncertainty/method-names.js';

/** An answer with its label, and its score by each method. */
export interface RatedAnswer {
  readonly right: boolean;
  readonly scores: ReadonlyMap<Method, number>;
}

export interface MethodChoice {
  readonly right: number;
  readonly wrong: number;
  /** How well each method tells wrong answers from right ones, the best first. */
  readonly rows: readonly { readonly method: Method; readonly auroc: Estimated }[];
  /** The lead of the best over the second. */
  readonly lead: Estimated;
  readonly chosen: Method;
}

/** The fewest answers of each label: with fewer, chance decides. */
export const MIN_LABELLED = 20;

/**
 * The method that answers are to be judged by: the one of the largest AUROC, if the interval of its lead over the second
 * leaves out 0; else, of these two, the one that costs no passes; else the first.
 * @param answers at least {@link MIN_LABELLED} of each label
 * @param methods at least two, whose scores all answers have
 */
export function chooseMethod(answers: readonly RatedAnswer[], methods: readonly Method[]): MethodChoice {
  const scored = new Map(
    methods.map((method) => {
      const of = (right: boolean): number[] =>
        answers.filter((answer) => answer.right === right).map(({ scores }) => scores.get(method)!);
      return [method, { positive: of(false), negative: of(true) } satisfies Scored] as const;
    }),
  );
  const rows = [...scored]
    .map(([method, scores]) => ({ method, auroc: auroc(scores) }))
    .sort((a, b) => b.auroc.value - a.auroc.value);
  const [best, second] = rows.map(({ method }) => method);
  const lead = aurocDifference(scored.get(best!)!, scored.get(second!)!);
  const isClear = lead.low > 0;
  return {
    right: answers.filter(({ right }) => right).length,
    wrong: answers.filter(({ right }) => !right).length,
    rows,
    lead,
    chosen: !isClear && !isProbability(best!) && isProbability(second!) ? second! : best!,
  };
}
