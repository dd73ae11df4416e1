import type { TokenStatistic } from '../numerics/token-statistics.js';
import { largest, normalizer, pick } from '../onnx/functions.js';
import type { Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/onnx-types.js';
import type { ModelSource } from './decoder.js';

/** How many of the most probable tokens a pass reports, unless it is asked for another number. */
export const TOP_TOKENS = 5;
/** Keeps a sum of probabilities that are all too small for fp32 from being zero. */
const TINY = 1e-30;

interface Distribution {
  /** `[scored, vocab]` */
  readonly logprobs: Value;
  /** Their exponentials, `[scored, vocab]`. */
  readonly probabilities: Value;
  /** Log-probability of the token that is there, `[scored]`. */
  readonly logprob: Value;
  /** The most probable tokens, at least 2: the margin needs them; `[scored, top]`. */
  readonly topLogprobs: Value;
  readonly topIds: Value;
}

/** Rows of logits, `[scored, vocab]`, and the tokens that are there, `[scored]`. */
interface Scored {
  readonly logits: Value;
  readonly targets: Value;
}

interface StatisticsOptions extends Scored {
  /** How many of the most probable tokens are told; {@link TOP_TOKENS} by default. */
  readonly top?: number | undefined;
}

/**
 * Entropy −Σ p log p, margin 1 − (p(x) − max over v ≠ x of p(v)) (docs/design/evaluation.md, section 1), each `[scored]`, and the
 * most probable tokens, `[scored, top]`.
 * @param targets the token x that is there, `[scored]`
 */
function statistics(
  g: Graph,
  { logprobs, probabilities, logprob, topLogprobs, topIds }: Distribution,
  targets: Value,
): Record<TokenStatistic | 'top_logprobs' | 'top_ids', Value> {
  const products = g.op('Mul', [probabilities, logprobs]);
  const entropy = g.op('Neg', [g.reduce('ReduceSum', products, [-1], { keepDims: false })]);

  const place = (table: Value, k: number): Value => g.reshape(g.slice(table, 1, [k], 1), ['scored']);
  const isFirst = g.op('Equal', [place(topIds, 0), targets]);
  const other = g.op('Where', [isFirst, place(topLogprobs, 1), place(topLogprobs, 0)]);
  const lead = g.op('Sub', [g.op('Exp', [logprob]), g.op('Exp', [other])]);
  const margin = g.op('Sub', [g.scalar(1), lead]);
  return { entropy, margin, top_logprobs: topLogprobs, top_ids: topIds };
}

/**
 * The rival of each scored token x: the v ≠ x whose probability grew most, argmax of p̂(v) − p(v), with both
 * probabilities, each `[scored]`. If all fell it is the one that fell least, which `rivalOf` then drops.
 * @param before p, `[scored, vocab]`
 * @param growth p̂ − p, `[scored, vocab]`, or that over a positive step
 * @param step `[1]`
 */
export function findRival(g: Graph, before: Value, growth: Value, targets: Value, step?: Value) {
  const column = g.unsqueeze(targets, [1]);
  const impossible = g.expand(g.scalar(-1e30), ['scored', 1]);
  const others = g.op('ScatterElements', [growth, column, impossible], { axis: 1 });
  const [id] = g.node('ArgMax', [others], { axis: 1, keepdims: 0 }, [{ type: 'int64', shape: ['scored'] }]);
  const chosen = pick(g, before, id!);
  const grown = pick(g, growth, id!);
  const after = g.op('Add', [chosen, step ? g.op('Mul', [grown, step]) : grown]);
  return { rival: id!, rival_before: chosen, rival_after: after };
}

/**
 * Makes the clean log-probability of the token that is there and its {@link statistics} outputs of the graph. The maximum
 * of a row is the first of its largest: on CUDA `ReduceMax` takes 11 ms over 151,936 tokens.
 * @returns the probabilities, `[scored, vocab]`
 */
export function outputStatistics(g: Graph, { logits, targets, top = TOP_TOKENS }: StatisticsOptions): Value {
  const [topLogits, topIds] = largest(g, logits, top);
  const normalized = normalizer(g, logits, g.slice(topLogits, 1, [0], 1));
  const logprobs = normalized(logits);
  const logprob = pick(g, logprobs, targets);
  const probabilities = g.op('Exp', [logprobs]);
  const topLogprobs = normalized(topLogits);
  g.output('logprob', logprob);
  g.outputAll(statistics(g, { logprobs, probabilities, logprob, topLogprobs, topIds }, targets));
  return probabilities;
}

/**
 * The probabilities of logits, `[scored, vocab]`. Rounded ones take that of the token that is there from the model, by an
 * input `doubts` fp32 `[scored]`, 1 − p, and share the rest among the others: derivatives are proportional to it.
 */
export function probabilitiesOf(
  g: Graph,
  { rounded }: Pick<ModelSource, 'rounded'>,
  { logits, targets }: Scored,
): Value {
  const probabilities = g.op('Softmax', [logits], { axis: -1 });
  if (!rounded) return probabilities;
  const doubts = g.unsqueeze(g.input('doubts', 'float32', targets.shape), [1]);
  const column = g.unsqueeze(targets, [1]);
  const nothing = g.op('Mul', [doubts, g.scalar(0)]);
  const others = g.op('ScatterElements', [probabilities, column, nothing], { axis: 1 });
  const rest = g.op('Add', [g.reduce('ReduceSum', others, [-1]), g.scalar(TINY)]);
  const shared = g.op('Mul', [others, g.op('Div', [doubts, rest])]);
  return g.op('ScatterElements', [shared, column, g.op('Sub', [g.scalar(1), doubts])], { axis: 1 });
}

/** {@link probabilitiesOf} logits, whose statistics are outputs of the graph, unless they are rounded. */
export function cleanProbabilities(g: Graph, source: ModelSource, scored: StatisticsOptions): Value {
  return source.rounded ? probabilitiesOf(g, source, scored) : outputStatistics(g, scored);
}

/**
 * Makes the perturbed log-probability of the token that is there and its rival outputs of the graph.
 * @param before p, `[scored, vocab]`
 */
export function outputPerturbed(g: Graph, before: Value, { logits, targets }: Scored): void {
  const [maximum] = largest(g, logits, 1);
  const perturbed = normalizer(g, logits, maximum)(logits);
  g.output('perturbed_logprob', pick(g, perturbed, targets));
  const growth = g.op('Sub', [g.op('Exp', [perturbed]), before]);
  g.outputAll(findRival(g, before, growth, targets));
}

/**
 * dL/d(logits) of L = Σ a log p(x): a (1[v = x] − p(v)), `[scored, vocab]`.
 * @param probabilities p, `[scored, vocab]`
 * @param attacked a, `[scored]`
 */
export function logitGradient(g: Graph, probabilities: Value, targets: Value, attacked: Value): Value {
  const weight = g.unsqueeze(attacked, [1]);
  const all = g.op('Mul', [probabilities, g.op('Neg', [weight])]);
  const column = g.unsqueeze(targets, [1]);
  return g.op('ScatterElements', [all, column, weight], { axis: 1, reduction: 'add' });
}

/**
 * Makes the derivative of the log-probability of the token that is there, d log p(x) = dz(x) − Σ p dz, and the rival to
 * first order, p̂ − p ≈ −α p d log p, outputs of the graph.
 * @param probabilities p, `[scored, vocab]`
 * @param slope dz of the logits, along a step of −α, `[scored, vocab]`
 * @param alpha `[1]`
 */
export function outputDerivative(
  g: Graph,
  probabilities: Value,
  { slope, alpha }: { readonly slope: Value; readonly alpha: Value },
  targets: Value,
): void {
  const shares = g.op('Mul', [probabilities, slope]);
  const mean = g.reduce('ReduceSum', shares, [-1]);
  g.output('derivative', g.op('Sub', [pick(g, slope, targets), g.reshape(mean, targets.shape)]));
  const growth = g.op('Sub', [g.op('Mul', [probabilities, mean]), shares]);
  g.outputAll(findRival(g, probabilities, growth, targets, alpha));
}
