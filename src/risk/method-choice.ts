import { auroc, aurocDifference, type Estimated, type Scored } from '../numerics/roc.js';
import type { Method } from '../uncertainty/method-names.js';
import { STATISTICS, type Statistic } from './risk.js';

/** How answers are judged: by a method, and a statistic of its scores. */
export interface Way {
  readonly method: Method;
  readonly statistic: Statistic;
}

/** An answer with its label, and its score in each way. */
export interface RatedAnswer {
  readonly right: boolean;
  readonly scores: ReadonlyMap<Method, Readonly<Record<Statistic, number>>>;
}

export interface MethodChoice {
  readonly right: number;
  readonly wrong: number;
  /** How well each way tells wrong answers from right ones, the best first. */
  readonly rows: readonly (Way & { readonly auroc: Estimated })[];
  /** The same on answers that a way was not chosen by: of the best with any statistic, of the best with `sum`, and the lead. */
  readonly unseen: Readonly<Record<'any' | 'sum' | 'lead', Estimated>>;
  readonly chosen: Way;
}

/** The fewest answers of each label: with fewer, chance decides. */
export const MIN_LABELLED = 20;
const FOLDS = 5;

/**
 * The way of the largest AUROC: with any statistic, if choosing among all of them is better in cross-validation than choosing
 * among sums; else with `sum`.
 * @param answers at least {@link MIN_LABELLED} of each label
 * @param methods those whose scores all answers have
 */
export function chooseMethod(answers: readonly RatedAnswer[], methods: readonly Method[]): MethodChoice {
  const ways = methods.flatMap((method) => STATISTICS.map((statistic) => ({ method, statistic })));
  const sums = ways.filter(({ statistic }) => statistic === 'sum');
  const [any, sum] = [crossValidated(answers, ways), crossValidated(answers, sums)];
  const unseen = { any: auroc(any), sum: auroc(sum), lead: aurocDifference(any, sum) };
  const rows = ranked(answers, ways);
  const { method, statistic } = unseen.lead.value > 0 ? rows[0]! : ranked(answers, sums)[0]!;
  const right = answers.filter((answer) => answer.right).length;
  return { right, wrong: answers.length - right, rows, unseen, chosen: { method, statistic } };
}

const scoreOf = ({ scores }: RatedAnswer, { method, statistic }: Way): number =>
  scores.get(method)![statistic];

const byLabel = <T extends { readonly right: boolean }>(
  all: readonly T[],
  score: (one: T) => number,
): Scored => ({
  positive: all.filter(({ right }) => !right).map(score),
  negative: all.filter(({ right }) => right).map(score),
});

/** The best first. */
const ranked = (answers: readonly RatedAnswer[], ways: readonly Way[]): MethodChoice['rows'] =>
  ways
    .map((way) => ({ ...way, auroc: auroc(byLabel(answers, (answer) => scoreOf(answer, way))) }))
    .sort((a, b) => b.auroc.value - a.auroc.value);

/**
 * Every fifth answer of a label is scored by the way that is best on the others: the share of these that score lower, so that
 * scores of different ways can be compared.
 */
function crossValidated(answers: readonly RatedAnswer[], ways: readonly Way[]): Scored {
  const places = new Map(
    [true, false].flatMap((label) =>
      answers.filter(({ right }) => right === label).map((answer, i) => [answer, i % FOLDS] as const),
    ),
  );
  const rated = Array.from({ length: FOLDS }, (_, fold) => {
    const others = answers.filter((answer) => places.get(answer) !== fold);
    const [way] = ranked(others, ways);
    const known = others.map((answer) => scoreOf(answer, way!));
    return answers
      .filter((answer) => places.get(answer) === fold)
      .map((answer) => {
        const score = scoreOf(answer, way!);
        const below = known.filter((other) => other < score).length;
        const equal = known.filter((other) => other === score).length;
        return { right: answer.right, score: (below + equal / 2) / known.length };
      });
  });
  return byLabel(rated.flat(), ({ score }) => score);
}
