import type { Graph } from './graph.js';
import type { Value } from './onnx-types.js';
import { detach } from './vjp.js';

/** Functions made of operators that every execution provider has and that have differentiation rules. */

/** log softmax over the last axis. */
export function logSoftmax(g: Graph, logits: Value): Value {
  return normalizer(g, logits, g.reduce('ReduceMax', logits, [-1]))(logits);
}

/**
 * What takes logits of a row, all or some, to log-probabilities: z − max z − log Σ exp(z − max z). The shift by the maximum
 * cancels, so no gradient flows through it.
 * @param maximum of each row, `[.., 1]`
 */
export function normalizer(g: Graph, logits: Value, maximum: Value): (some: Value) => Value {
  const constant = detach(maximum);
  const shifted = g.op('Sub', [logits, constant]);
  const sum = g.op('Log', [g.reduce('ReduceSum', g.op('Exp', [shifted]), [-1])]);
  return (some) => g.op('Sub', [some === logits ? shifted : g.op('Sub', [some, constant]), sum]);
}

/** The largest of each row in descending order and where they are, `[rows, columns]` → `[rows, count]`. */
export function largest(g: Graph, x: Value, count: number): readonly [values: Value, places: Value] {
  const shape = [x.shape[0]!, count];
  const [values, places] = g.node('TopK', [x, g.ints([count])], { axis: -1, largest: 1, sorted: 1 }, [
    { type: 'float32', shape },
    { type: 'int64', shape },
  ]);
  return [values!, places!];
}

/**
 * −1, 0 or 1; NaN where x is not finite, so that a gradient that overflowed is not taken for none. `Sign` itself runs
 * on the CPU only under WebGPU.
 */
export function sign(g: Graph, x: Value): Value {
  const zero = g.scalar(0);
  const positive = g.cast(g.op('Greater', [x, zero]), 'float32');
  const negative = g.cast(g.op('Less', [x, zero]), 'float32');
  const finite = g.op('Mul', [x, zero]);
  return g.op('Add', [g.op('Sub', [positive, negative]), finite]);
}

/**
 * 0 where the mean square of a row is a number, else NaN, `[rows, 1]`. A norm divides by its root: a finite row whose
 * squares overflow comes out as zeros, after which a broken model looks sure of every token.
 */
export function overflow(g: Graph, x: Value): Value {
  const constant = detach(x);
  const square = g.reduce('ReduceMean', g.op('Mul', [constant, constant]), [-1]);
  return g.op('Mul', [square, g.scalar(0)]);
}

/** x · σ(x), the activation of the gated feed-forward layers. Its slope σ (1 + x (1 − σ)) is computed once. */
export function silu(g: Graph, x: Value): Value {
  const sigmoid = g.op('Sigmoid', [x]);
  const result = g.op('Mul', [x, sigmoid]);
  let known: Value | undefined;
  const slope = (): Value => {
    const one = g.scalar(1);
    known ??= g.op('Mul', [sigmoid, g.op('Add', [g.op('Mul', [x, g.op('Sub', [one, sigmoid])]), one])]);
    return known;
  };
  g.defineGradient(result, {
    inputs: [x],
    rule: (dy) => [() => g.op('Mul', [dy, slope()])],
    tangent: ([dx]) => g.op('Mul', [dx!, slope()]),
  });
  return result;
}

/** GELU by its tanh approximation, ½ x (1 + tanh u) with u = √(2/π) (x + 0.044715 x³): the same as x · σ(2u). */
export function gelu(g: Graph, x: Value): Value {
  const scale = 2 * Math.sqrt(2 / Math.PI);
  const square = g.op('Mul', [x, x]);
  const slope = g.op('Add', [g.op('Mul', [square, g.scalar(0.044715 * scale)]), g.scalar(scale)]);
  return g.op('Mul', [x, g.op('Sigmoid', [g.op('Mul', [x, slope])])]);
}

/** c · tanh(x / c): nearly x where it is small, never beyond ±c. */
export function softCap(g: Graph, x: Value, c: number): Value {
  return g.op('Mul', [g.op('Tanh', [g.op('Mul', [x, g.scalar(1 / c)])]), g.scalar(c)]);
}

/** The derivative of {@link softCap} by its result y: 1 − (y / c)². */
export function softCapSlope(g: Graph, y: Value, c: number): Value {
  const share = g.op('Mul', [y, g.scalar(1 / c)]);
  return g.op('Sub', [g.scalar(1), g.op('Mul', [share, share])]);
}

/** Emits A x, and Aᵀ dy. */
export interface Linear {
  readonly apply: (x: Value) => Value;
  readonly transposed: (dy: Value) => Value;
}

/** A x + bias. Its gradient is the transpose, and its tangent is A itself. */
export function linear(g: Graph, x: Value, { apply, transposed }: Linear, bias?: Value): Value {
  const product = apply(x);
  const result = bias ? g.op('Add', [product, bias]) : product;
  g.defineGradient(result, {
    inputs: [x],
    rule: (dy) => [() => transposed(dy)],
    tangent: ([dx]) => apply(dx!),
  });
  return result;
}

/** Entry `indices[row]` of each row: `[rows, columns]`, `[rows]` → `[rows]`. */
export function pick(g: Graph, x: Value, indices: Value): Value {
  const column = g.unsqueeze(indices, [1]);
  return g.reshape(g.op('GatherElements', [x, column], { axis: 1 }), indices.shape);
}
