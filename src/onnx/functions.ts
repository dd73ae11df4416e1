import type { Graph } from './graph.js';
import type { Value } from './onnx-types.js';
import { detach } from './vjp.js';

/** Functions made of operators that every execution provider has and that have differentiation rules. */

/** log softmax over the last axis. The shift by the maximum cancels, so no gradient flows through it. */
export function logSoftmax(g: Graph, logits: Value): Value {
  const maximum = detach(g.reduce('ReduceMax', logits, [-1]));
  const shifted = g.op('Sub', [logits, maximum]);
  const sum = g.reduce('ReduceSum', g.op('Exp', [shifted]), [-1]);
  return g.op('Sub', [shifted, g.op('Log', [sum])]);
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

/** Entry `indices[row]` of each row: `[rows, columns]`, `[rows]` → `[rows]`. */
export function pick(g: Graph, x: Value, indices: Value): Value {
  const column = g.unsqueeze(indices, [1]);
  return g.reshape(g.op('GatherElements', [x, column], { axis: 1 }), indices.shape);
}
