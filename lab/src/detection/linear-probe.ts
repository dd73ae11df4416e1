import { Matrix, solve } from 'ml-matrix';

export interface Labelled {
  readonly features: readonly number[];
  readonly positive: boolean;
  /** Examples of a group are not told apart by a split. */
  readonly group: number;
}

/** Strengths of the penalty to choose from, for features of unit variance. */
const PENALTIES = [1, 10, 100, 1000];
const FOLDS = 5;
const NEWTON_STEPS = 25;
const CONVERGED = 1e-8;

/** The log odds of being positive. */
export type LinearProbe = (features: readonly number[]) => number;

/**
 * Logistic regression with an L2 penalty, chosen by cross-validation over groups: what labels would buy (Alain and Bengio,
 * Understanding intermediate layers using linear classifier probes, 2016).
 * @throws RangeError without examples of both kinds in each fold
 */
export function trainProbe(examples: readonly Labelled[]): LinearProbe {
  const losses = PENALTIES.map((penalty) =>
    Array.from({ length: FOLDS }, (_, fold) => {
      const held = ({ group }: Labelled) => group % FOLDS === fold;
      const probe = fit(
        examples.filter((example) => !held(example)),
        penalty,
      );
      return logLoss(probe, examples.filter(held));
    }).reduce((a, b) => a + b),
  );
  return fit(examples, PENALTIES[losses.indexOf(Math.min(...losses))]!);
}

/** Newton's method; the intercept is not penalised. */
function fit(examples: readonly Labelled[], penalty: number): LinearProbe {
  const positives = examples.filter(({ positive }) => positive).length;
  if (positives === 0 || positives === examples.length)
    throw new RangeError('a probe needs positive and negative examples');
  const raw = new Matrix(examples.map(({ features }) => [...features]));
  const means = raw.mean('column');
  const deviations = raw.standardDeviation('column').map((deviation) => deviation || 1);
  const standard = raw.subRowVector(means).divRowVector(deviations);
  const x = standard.addColumn(new Array<number>(examples.length).fill(1));
  const xt = x.transpose();
  const penalties = Matrix.eye(x.columns)
    .mul(penalty)
    .set(x.columns - 1, x.columns - 1, 0);
  let weights = Matrix.zeros(x.columns, 1);
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const odds = x.mmul(weights).to1DArray();
    const p = odds.map((z) => 1 / (1 + Math.exp(-z)));
    const errors = Matrix.columnVector(p.map((each, i) => each - Number(examples[i]!.positive)));
    const gradient = xt.mmul(errors).add(penalties.mmul(weights));
    const curvature = xt.mmul(x.clone().mulColumnVector(p.map((each) => each * (1 - each) + 1e-9)));
    const change = solve(curvature.add(penalties), gradient);
    weights = Matrix.sub(weights, change);
    if (change.norm() < CONVERGED * (1 + weights.norm())) break;
  }
  const w = weights.to1DArray();
  return (features) =>
    features.reduce((sum, value, d) => sum + (w[d]! * (value - means[d]!)) / deviations[d]!, w.at(-1)!);
}

const logLoss = (probe: LinearProbe, examples: readonly Labelled[]): number =>
  examples.reduce((sum, { features, positive }) => {
    const z = probe(features) * (positive ? 1 : -1);
    return sum + Math.log1p(Math.exp(-Math.abs(z))) + Math.max(0, -z);
  }, 0);
