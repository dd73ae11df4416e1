import { mean, quantile } from 'simple-statistics';
import type { Engine } from '#src/engine/engine.js';
import { scoreResponse } from '#src/uncertainty/sequence-scorer.js';
import { DEFAULT_ALPHA } from '#src/uncertainty/settings.js';
import { type Agreement, agreement } from './agreement.js';
import type { Answer } from './answers.js';
import { REFERENCES, type Variant } from './variants.js';

interface ScoredAnswer {
  /** One for each token, `null` where it was not attacked. */
  readonly scores: readonly (number | null)[];
  /** Positions that passes ran over. */
  readonly positions: number;
  readonly milliseconds: number;
}

/** One answer under every schedule, by the schedule's name. */
export type Comparison = ReadonlyMap<string, ScoredAnswer>;

export async function scoreAnswer(
  engine: Engine,
  { promptIds, ids }: Pick<Answer, 'promptIds' | 'ids'>,
  variants: readonly Variant[],
): Promise<Comparison> {
  const results = new Map<string, ScoredAnswer>();
  for (const { name, schedule } of variants) {
    const start = performance.now();
    const scoring = { methods: ['adversarial'], schedule, alpha: DEFAULT_ALPHA } as const;
    const { tokens, positions } = await scoreResponse(engine, promptIds, ids, scoring);
    const scores = tokens.map(({ scores: { adversarial } }) => adversarial ?? null);
    results.set(name, { scores, positions, milliseconds: performance.now() - start });
  }
  return results;
}

export interface ScheduleResult {
  readonly name: string;
  /** Share of all tokens. */
  readonly attacked: number;
  readonly positionsPerToken: number;
  readonly millisecondsPerToken: number;
  /** Agreement with each of the references, over answers. */
  readonly agreement: Readonly<Record<(typeof REFERENCES)[number], AgreementOfAll>>;
}

interface AgreementOfAll {
  /** Means, and the tenth percentile: how bad the worst answers are. */
  readonly spearman: number;
  readonly spearmanP10: number;
  readonly top: number;
  readonly topP10: number;
  readonly kept: number;
}

export function summarize(
  variants: readonly Variant[],
  comparisons: readonly Comparison[],
): ScheduleResult[] {
  return variants.map(({ name }) => {
    const mine = comparisons.map((comparison) => resultOf(comparison, name));
    const scores = mine.flatMap((result) => result.scores);
    const sum = (of: (result: ScoredAnswer) => number): number =>
      mine.reduce((total, result) => total + of(result), 0);
    const against = (reference: string): AgreementOfAll =>
      overAnswers(
        mine.map(({ scores }, i) => agreement(scores, resultOf(comparisons[i]!, reference).scores)),
      );
    const [offline, exact, standard] = REFERENCES;
    return {
      name,
      attacked: scores.filter((score) => score !== null).length / scores.length,
      positionsPerToken: sum(({ positions }) => positions) / scores.length,
      millisecondsPerToken: sum(({ milliseconds }) => milliseconds) / scores.length,
      agreement: {
        [offline]: against(offline),
        [exact]: against(exact),
        [standard]: against(standard),
      },
    };
  });
}

/**
 * Means over answers. An answer has no rank correlation if it is not defined, as when fewer than two tokens
 * are attacked.
 */
function overAnswers(all: readonly Agreement[]): AgreementOfAll {
  const correlations = all.map(({ spearman }) => spearman).filter(Number.isFinite);
  const tops = all.map(({ top }) => top);
  return {
    spearman: correlations.length === 0 ? Number.NaN : mean(correlations),
    spearmanP10: correlations.length === 0 ? Number.NaN : quantile(correlations, 0.1),
    top: mean(tops),
    topP10: quantile(tops, 0.1),
    kept: mean(all.map(({ kept }) => kept)),
  };
}

function resultOf(comparison: Comparison, name: string): ScoredAnswer {
  const result = comparison.get(name);
  if (!result) throw new Error(`schedules: ${name} is not among the variants`);
  return result;
}
