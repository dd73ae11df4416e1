import type { Graph } from './graph.js';
import { GraphError, sameShape, type Value } from './onnx-types.js';
import type { Node, OperatorName } from './operators.js';
import { inverseRms, VJP_RULES } from './vjp.js';

interface JvpContext {
  readonly g: Graph;
  readonly node: Node;
  readonly inputs: readonly Value[];
  readonly output: Value;
}

/** A tangent is d/dε of a value; `null` where the value is constant. */
type Tangents = readonly (Value | null | undefined)[];

/** Given the tangents of the inputs, not all of them `null`, emits those of the outputs. */
type JvpRule = (dxs: Tangents, context: JvpContext) => Value | readonly Value[];

/** The sum of what is not zero. */
function sum(g: Graph, terms: Tangents): Value {
  return terms.filter((term) => term !== null && term !== undefined).reduce((a, b) => g.op('Add', [a, b]));
}

/** The operator itself applied to the tangent: linear in its first input, while the others say how. */
const linear: JvpRule = ([dx, ...others], { g, node }) => {
  if (!dx || others.some((other) => other)) throw new GraphError(node.op, 'only its first input may vary');
  return g.node(node.op, [dx, ...node.inputs.slice(1)], node.attributes, [...node.outputs]);
};

/** One input and J = Jᵀ, diagonal or that of softmax: the reverse rule is the forward rule. */
const symmetric: JvpRule = ([dx], { g, node, inputs, output }) => {
  const { op, attributes } = node;
  const context = { g, inputs, output, attributes, cotangents: [dx!], wanted: () => true };
  const result = VJP_RULES[op]?.(dx!, context)[0];
  if (!result) throw new GraphError(op, 'has no differentiation rule');
  return result;
};

/** Linear in each of two inputs. */
const product =
  (op: 'Mul' | 'MatMul'): JvpRule =>
  ([da, db], { g, inputs: [a, b] }) =>
    sum(g, [da && g.op(op, [da, b!]), db && g.op(op, [a!, db])]);

/**
 * Forward-mode differentiation, one rule per operator (Jacobian-vector products; textbook formulas, each tested
 * against finite differences).
 */
const JVP_RULES: Partial<Record<OperatorName, JvpRule>> = {
  Add: (dxs, { g, output }) => g.expand(sum(g, dxs), output.shape),

  Sub: ([da, db], { g, output }) =>
    g.expand(da && db ? g.op('Sub', [da, db]) : (da ?? g.op('Neg', [db!])), output.shape),

  Mul: product('Mul'),

  // y = a / b:  dy = (da − y db) / b
  Div: ([da, db], { g, inputs: [, b], output }) => {
    const change = db && g.op('Mul', [output, db]);
    const numerator = da && change ? g.op('Sub', [da, change]) : (da ?? g.op('Neg', [change!]));
    return g.op('Div', [numerator, b!]);
  },

  Neg: symmetric,
  Exp: symmetric,
  Log: symmetric,
  Sqrt: symmetric,
  Reciprocal: symmetric,
  Sigmoid: symmetric,
  Tanh: symmetric,
  Softmax: symmetric,

  MatMul: product('MatMul'),

  // y = x Wᵀ (+ bias)
  Gemm: ([dx, dw, dbias], { g, node, inputs: [x, w], output }) =>
    g.expand(
      sum(g, [
        dx && g.op('Gemm', [dx, g.reread(w!, dx)], node.attributes),
        dw && g.op('Gemm', [x!, dw], node.attributes),
        dbias,
      ]),
      output.shape,
    ),

  // y = r x ⊙ w with r = 1/√(mean x² + ε):  dy = r (dx − x r² mean(x ⊙ dx)) ⊙ w + r x ⊙ dw
  RMSNormalization: ([dx, dw], { g, node, inputs: [x, w] }) => {
    const r = inverseRms(g, x!, node.attributes);
    const normalized = (): Value => {
      const inner = g.reduce('ReduceMean', g.op('Mul', [x!, dx!]), [-1]);
      const factor = g.op('Mul', [inner, g.op('Mul', [r, r])]);
      return g.op('Mul', [r, g.op('Sub', [dx!, g.op('Mul', [x!, factor])])]);
    };
    return sum(g, [dx && g.op('Mul', [normalized(), w!]), dw && g.op('Mul', [g.op('Mul', [r, x!]), dw])]);
  },

  // A constant part needs zeros of its size.
  Concat: (dxs, { g, node, inputs, output }) => {
    const parts = inputs.map((input, i) => dxs[i] ?? g.expand(g.scalar(0), input.shape));
    return g.node('Concat', parts, node.attributes, [output]);
  },

  MatMulNBits: linear,
  RotaryEmbedding: linear,
  Transpose: linear,
  Reshape: linear,
  Unsqueeze: linear,
  Expand: linear,
  Split: linear,
  Gather: linear,
  GatherElements: linear,
  ReduceSum: linear,
  ReduceMean: linear,
};

/** The operators that {@link tangents} can go through. */
export const FORWARD_DIFFERENTIABLE: readonly string[] = Object.keys(JVP_RULES);

/**
 * Emits d/dε of each of `outputs`, in the order given, where every seeded value moves by ε · tangent.
 *
 * Only nodes on a path from a seed to an output are visited; whatever else enters them (weights, a KV cache, a value
 * made by `detach`) is a constant. A seeded value that depends on another moves by both.
 * @throws GraphError when such a node has no rule, or when an output does not depend on the seeds
 */
export function tangents(
  g: Graph,
  seeds: readonly { readonly value: Value; readonly tangent: Value }[],
  outputs: readonly Value[],
): Value[] {
  const forward = [...g.nodes];
  const needed = ancestors(g, forward, outputs);
  const known = new Map<Value, Value>();
  const accumulate = (value: Value, tangent: Value): void => {
    if (!sameShape(value.shape, tangent.shape)) {
      throw new GraphError('tangent', `[${tangent.shape}] for a value of shape [${value.shape}]`);
    }
    const before = known.get(value);
    known.set(value, before ? g.op('Add', [before, tangent]) : tangent);
  };

  for (const { value, tangent } of seeds) accumulate(value, tangent);
  for (const node of forward) {
    if (node.op === 'Shape') continue; // a size does not depend on the values
    if (!node.outputs.some((output) => needed.has(output))) continue;
    const own = g.gradientOf(node.outputs[0]!)?.tangent;
    const inputs = own ? g.dependencies(node) : node.inputs.filter((input) => input !== null);
    const entering = inputs.map((input) => known.get(input) ?? null);
    if (entering.every((tangent) => tangent === null)) continue;
    if (own) {
      accumulate(node.outputs[0]!, own(entering));
      continue;
    }
    const rule = JVP_RULES[node.op];
    if (!rule) throw new GraphError(node.op, 'has no forward differentiation rule');
    const results = [rule(entering, { g, node, inputs, output: node.outputs[0]! })].flat();
    node.outputs.forEach((output, i) => {
      accumulate(output, results[i]!);
    });
  }

  return outputs.map((value) => {
    const tangent = known.get(value);
    if (!tangent) throw new GraphError('tangent', `no path from a seed to ${value.name}`);
    return tangent;
  });
}

/** The outputs and all that they are computed from. */
function ancestors(g: Graph, nodes: readonly Node[], outputs: readonly Value[]): ReadonlySet<Value> {
  const found = new Set(outputs);
  for (const node of nodes.toReversed()) {
    if (!node.outputs.some((output) => found.has(output))) continue;
    for (const input of node.inputs) if (input) found.add(input);
    for (const input of g.dependencies(node)) found.add(input);
  }
  return found;
}
