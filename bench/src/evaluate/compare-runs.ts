import type { WrittenEstimate } from '../records/evaluation.js';
import {
  type BootstrapOptions,
  bootstrapDifference,
  percentileInterval,
  type Resampled,
} from '../statistics/bootstrap.js';
import { countPairs, mcnemar, pairedDifference } from '../statistics/paired.js';
import { wilson } from '../statistics/wilson.js';
import { type Aggregated, CONTROLS, type ScoredCase } from './case.js';
import { responseDetectors } from './detection.js';
import { written } from './measure-table.js';

/** What a run knows of its answers. */
export interface ComparedRun {
  /** Whether the answer to a question is right, by an id that both runs use for the same question. */
  readonly right: ReadonlyMap<string, boolean>;
  /** Those that are scored. */
  readonly cases: readonly ScoredCase[];
}

/** Two runs on the same questions. */
export interface ComparedRow {
  /** `null` for the accuracy; else the score whose AUROC it is. */
  readonly score: { readonly measure: string; readonly aggregation: Aggregated } | null;
  /** Questions that both runs have. */
  readonly n: number;
  readonly first: WrittenEstimate;
  readonly second: WrittenEstimate;
  /** The second less the first. */
  readonly difference: WrittenEstimate;
  readonly p: number | null;
}

/**
 * Accuracy and AUROC of two runs on the questions that both have, with paired differences: Newcombe's interval and McNemar's
 * test, and the bootstrap of whole questions. Of each measure the way to put tokens together that is best in the first run.
 */
export function compareRuns(
  first: ComparedRun,
  second: ComparedRun,
  options: BootstrapOptions,
): ComparedRow[] {
  const ids = [...first.right.keys()].filter((id) => second.right.has(id));
  const [a, b] = [first, second].map(({ right }) => ids.map((id) => right.get(id)!)) as [
    boolean[],
    boolean[],
  ];
  const counts = countPairs(b, a);
  const share = (right: readonly boolean[]): WrittenEstimate =>
    written(wilson(right.filter(Boolean).length, right.length));
  const accuracy: ComparedRow = {
    score: null,
    n: ids.length,
    first: share(a),
    second: share(b),
    difference: written(pairedDifference(counts)),
    p: ids.length === 0 ? null : mcnemar(counts),
  };
  return [accuracy, ...compareScores(first, second, options)];
}

function compareScores(first: ComparedRun, second: ComparedRun, options: BootstrapOptions): ComparedRow[] {
  const others = new Map(second.cases.map((one) => [one.id, one]));
  const pairs = first.cases.flatMap((one) => {
    const other = others.get(one.id);
    return other ? [[one, other] as const] : [];
  });
  const [one, other] = pairs[0] ?? [];
  if (!one || !other) return [];
  const measures = [...one.measures.keys()].filter(
    (name) => other.measures.has(name) && !CONTROLS.includes(name),
  );
  // The same resamples of questions, in the same order.
  const [a, b] = [0, 1].map((run) =>
    responseDetectors(
      pairs.map((pair) => pair[run]!),
      measures,
      options,
    ),
  );
  return measures.flatMap((measure): ComparedRow[] => {
    const ways = a!.filter((row) => row.measure === measure && !Number.isNaN(row.auroc.value));
    const [top] = ways.toSorted((x, y) => y.auroc.value - x.auroc.value);
    const found = b!.find((row) => row.measure === measure && row.aggregation === top?.aggregation);
    if (!top || !found || Number.isNaN(found.auroc.value)) return [];
    const { difference, p } = bootstrapDifference(found.auroc, top.auroc);
    const area = (of: Resampled): WrittenEstimate => written(percentileInterval(of));
    return [
      {
        score: { measure, aggregation: top.aggregation },
        n: pairs.length,
        first: area(top.auroc),
        second: area(found.auroc),
        difference: written(difference),
        p,
      },
    ];
  });
}
