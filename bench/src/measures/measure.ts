import type { Method, Scoring } from 'flinch';

/**
 * A measure of uncertainty as a run names it: a method, with settings that differ from its defaults, such as
 * `adversarial`, `adversarial:block=8,window=64`, `random:samples=40`. The name is its identity in every file.
 */
export type MeasureName = string;

/** Tokens of a response, from and up to but without. */
export type TokenSpan = readonly [number, number];

/**
 * Scores of one response by a measure; scores of a whole that it lacks are derived: a step's sum and maximum,
 * and so on.
 */
export interface MeasureScores {
  /** One for each token of the response; `null` for a token without a score. */
  readonly tokens?: readonly (number | null)[];
  /** One for each step, of measures that score steps of themselves (CCP, TokenSAR, Graph Uncertainty). */
  readonly steps?: readonly number[];
  /** Score of measures that score whole responses directly (CCP, TokenSAR, Self-Consistency). */
  readonly response?: number;
  /** One for each claim of the response, of measures that score claims of themselves (Graph Uncertainty of claims). */
  readonly claims?: readonly number[];
}

/**
 * Source of the scores of steps: `alone`, each step is a text of its own, and its tokens are weighed among
 * themselves; `share`, a step has its tokens' part of the whole response's score.
 */
export const STEP_RELEVANCE = ['alone', 'share'] as const;
export type StepRelevance = (typeof STEP_RELEVANCE)[number];

/** A measure with all of its settings. */
export type Measure = { readonly name: MeasureName } & MeasureKind;

/** `light`: by the substitute, without a model of its own. */
export type MeasureKind =
  | { readonly kind: 'engine'; readonly method: Method; readonly needs: PassNeeds }
  /** −Σ p log p over the `top` most probable tokens alone, all that the log-probabilities of an API tell. */
  | { readonly kind: 'top_entropy'; readonly top: number }
  | { readonly kind: 'ccp'; readonly light: boolean }
  | { readonly kind: 'token_sar'; readonly light: boolean; readonly steps: StepRelevance }
  | {
      readonly kind: 'graph';
      readonly light: boolean;
      readonly samples: number;
      readonly clusters: number;
      readonly seed: number;
    }
  /** Graph Uncertainty whose nodes are claims that a judge took from the responses. */
  | { readonly kind: 'claim_graph'; readonly samples: number }
  | { readonly kind: 'self_consistency'; readonly samples: number };

/** Requirements of a measure for passes through the model; one scoring may serve several. */
export interface PassNeeds {
  readonly adversary?: Pick<Scoring, 'schedule' | 'alpha'>;
  readonly random?: NonNullable<Scoring['random']>;
  readonly tokur?: NonNullable<Scoring['tokur']>;
  /** The most probable tokens, so many. */
  readonly top?: number;
}

/** Number of further responses to the same prompt, the most that one of the measures asks for. */
export function samplesNeeded(measures: readonly Measure[]): number {
  return Math.max(0, ...measures.map((measure) => ('samples' in measure ? measure.samples : 0)));
}

/** Whether a judge has to take the responses apart into claims first. */
export const needsClaimGraph = (measures: readonly Measure[]): boolean =>
  measures.some(({ kind }) => kind === 'claim_graph');
