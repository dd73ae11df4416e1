import { Matrix, solve } from 'ml-matrix';
import { mean, sampleStandardDeviation } from 'simple-statistics';

export interface Labelled {
  readonly features: readonly number[];
  readonly positive: boolean;
  /** Examples of a group are on one side of a split. */
  readonly group: number;
}

/** Strengths of the penalty to choose from, for features of unit variance. */
const PENALTIES = [1, 10, 100, 1000];
const FOLDS = 5;
const NEWTON_STEPS = 25;
/** Newton's method squares the error: after so small a change it is that of rounding. */
const CONVERGED = 1e-4;

/** The log odds of being positive. */
export type LinearProbe = (features: readonly number[]) => number;

/**
 * Logistic regression with an L2 penalty, chosen by cross-validation over groups: what labels would buy (Alain and Bengio,
 * Understanding intermediate layers using linear classifier probes, 2016).
 * @throws RangeError without examples of both kinds in each fold
 */
export function trainProbe(examples: readonly Labelled[]): LinearProbe {
  const losses = PENALTIES.map(() => 0);
  for (let fold = 0; fold < FOLDS; fold++) {
    const held = examples.filter(({ group }) => group % FOLDS === fold);
    const train = fitter(examples.filter(({ group }) => group % FOLDS !== fold));
    for (const [i, penalty] of PENALTIES.entries()) losses[i]! += logLoss(train(penalty), held);
  }
  return fitter(examples)(PENALTIES[losses.indexOf(Math.min(...losses))]!);
}

/** Newton's method; the intercept, which is the last weight, is not penalised. */
function fitter(examples: readonly Labelled[]): (penalty: number) => LinearProbe {
  const positives = examples.filter(({ positive }) => positive).length;
  if (positives === 0 || positives === examples.length)
    throw new RangeError('a probe needs positive and negative examples');
  const columns = examples[0]!.features.map((_, d) => examples.map(({ features }) => features[d]!));
  const means = columns.map((column) => mean(column));
  const deviations = columns.map((column) => sampleStandardDeviation(column) || 1);
  const size = columns.length + 1;
  // [examples, size], standardised, with ones in the last column
  const x = new Float64Array(examples.length * size).fill(1);
  for (const [d, column] of columns.entries())
    for (const [i, value] of column.entries()) x[i * size + d] = (value - means[d]!) / deviations[d]!;
  const labels = Float64Array.from(examples, ({ positive }) => Number(positive));
  // From the weights of the last penalty fewer steps are needed.
  const weights = new Float64Array(size);
  return (penalty) => {
    for (let step = 0; step < NEWTON_STEPS; step++) {
      const { gradient, curvature } = derivatives(x, labels, weights);
      for (let d = 0; d < size - 1; d++) {
        gradient[d]! += penalty * weights[d]!;
        curvature.set(d, d, curvature.get(d, d) + penalty);
      }
      const change = solve(curvature, Matrix.columnVector(gradient)).to1DArray();
      for (const [d, each] of change.entries()) weights[d]! -= each;
      if (Math.hypot(...change) < CONVERGED * (1 + Math.hypot(...weights))) break;
    }
    const found = weights.slice();
    return (features) =>
      features.reduce(
        (sum, value, d) => sum + (found[d]! * (value - means[d]!)) / deviations[d]!,
        found.at(-1)!,
      );
  };
}

/** Of the log loss. */
function derivatives(x: Float64Array, labels: Float64Array, weights: Float64Array) {
  const size = weights.length;
  const gradient = new Float64Array(size);
  const sums = new Float64Array(size * size);
  for (let i = 0, at = 0; i < labels.length; i++, at += size) {
    let odds = 0;
    for (let d = 0; d < size; d++) odds += weights[d]! * x[at + d]!;
    const p = 1 / (1 + Math.exp(-odds));
    const slope = p * (1 - p) + 1e-9;
    for (let d = 0; d < size; d++) {
      gradient[d]! += (p - labels[i]!) * x[at + d]!;
      const scaled = slope * x[at + d]!;
      for (let e = d; e < size; e++) sums[d * size + e]! += scaled * x[at + e]!;
    }
  }
  const curvature = Matrix.zeros(size, size);
  for (let d = 0; d < size; d++)
    for (let e = 0; e < size; e++) curvature.set(d, e, sums[Math.min(d, e) * size + Math.max(d, e)]!);
  return { gradient, curvature };
}

const logLoss = (probe: LinearProbe, examples: readonly Labelled[]): number =>
  examples.reduce((sum, { features, positive }) => {
    const z = probe(features) * (positive ? 1 : -1);
    return sum + Math.log1p(Math.exp(-Math.abs(z))) + Math.max(0, -z);
  }, 0);
