import type { Graph } from './graph.js';
import { type Attributes, axisFrom, GraphError, type Shape, sameShape, type Value } from './onnx-types.js';
import type { Node, OperatorName } from './operators.js';

interface VjpContext {
  readonly g: Graph;
  readonly inputs: readonly Value[];
  readonly output: Value;
  /** dL/d(output) of every output, zeros where nothing depends on it. */
  readonly cotangents: readonly Value[];
  readonly attributes: Attributes;
  /** Whether the gradient of input i is wanted: what is not wanted should cost nothing. */
  readonly wanted: (input: number) => boolean;
}

/** Given dL/d(output) of the first output, emits dL/d(input) for every wanted input; `null` where the input has no gradient. */
type VjpRule = (dy: Value, context: VjpContext) => (Value | null)[];

/** Sums a gradient over the axes along which its operand was repeated. */
export function unbroadcast(g: Graph, gradient: Value, shape: Shape): Value {
  const extra = gradient.shape.length - shape.length;
  const leading = Array.from({ length: extra }, (_, axis) => axis);
  const summed = extra > 0 ? g.reduce('ReduceSum', gradient, leading, { keepDims: false }) : gradient;
  const repeated = shape.flatMap((dim, axis) => (dim === 1 && summed.shape[axis] !== 1 ? [axis] : []));
  return repeated.length > 0 ? g.reduce('ReduceSum', summed, repeated) : summed;
}

/** 1/√(mean x² + ε) over the last axis, which stays as one. */
export function inverseRms(g: Graph, x: Value, { epsilon }: Attributes): Value {
  const square = g.reduce('ReduceMean', g.op('Mul', [x, x]), [-1]);
  return g.op('Reciprocal', [g.op('Sqrt', [g.op('Add', [square, g.scalar(Number(epsilon))])])]);
}

/** Exchanges the last two axes. */
function matrixTranspose(g: Graph, value: Value): Value {
  const perm = value.shape.map((_, axis) => axis);
  const rank = perm.length;
  return g.transpose(value, [...perm.slice(0, -2), rank - 1, rank - 2]);
}

const elementwise =
  (rule: (dy: Value, context: VjpContext) => (() => Value)[]): VjpRule =>
  (dy, context) =>
    rule(dy, context).map((emit, i) =>
      context.wanted(i) ? unbroadcast(context.g, emit(), context.inputs[i]!.shape) : null,
    );

const axisOf = ({ attributes, inputs }: VjpContext, otherwise: number): number => {
  const axis = attributes.axis;
  return axisFrom(typeof axis === 'number' ? axis : otherwise, inputs[0]!.shape.length);
};

/**
 * Reverse-mode differentiation, one rule per operator (vector-Jacobian products; textbook formulas, each tested
 * against finite differences).
 */
export const VJP_RULES: Partial<Record<OperatorName, VjpRule>> = {
  Add: elementwise((dy) => [() => dy, () => dy]),

  Sub: elementwise((dy, { g }) => [() => dy, () => g.op('Neg', [dy])]),

  Mul: elementwise((dy, { g, inputs: [a, b] }) => [() => g.op('Mul', [dy, b!]), () => g.op('Mul', [dy, a!])]),

  Div: elementwise((dy, { g, inputs: [, b], output }) => [
    () => g.op('Div', [dy, b!]),
    () => g.op('Neg', [g.op('Div', [g.op('Mul', [dy, output]), b!])]),
  ]),

  Neg: (dy, { g }) => [g.op('Neg', [dy])],

  Exp: (dy, { g, output }) => [g.op('Mul', [dy, output])],

  Log: (dy, { g, inputs: [x] }) => [g.op('Div', [dy, x!])],

  Sqrt: (dy, { g, output }) => [g.op('Div', [g.op('Mul', [dy, g.scalar(0.5)]), output])],

  Reciprocal: (dy, { g, output }) => [g.op('Neg', [g.op('Mul', [dy, g.op('Mul', [output, output])])])],

  // σ' = σ (1 − σ)
  Sigmoid: (dy, { g, output }) => [
    g.op('Mul', [dy, g.op('Mul', [output, g.op('Sub', [g.scalar(1), output])])]),
  ],

  // tanh' = 1 − tanh²
  Tanh: (dy, { g, output }) => [g.op('Mul', [dy, g.op('Sub', [g.scalar(1), g.op('Mul', [output, output])])])],

  // dx = y ⊙ (dy − Σ dy ⊙ y). Attention defines a gradient of its own: graphs/attention.ts.
  Softmax: (dy, context) => {
    const { g, output } = context;
    const inner = g.reduce('ReduceSum', g.op('Mul', [dy, output]), [axisOf(context, -1)]);
    return [g.op('Mul', [output, g.op('Sub', [dy, inner])])];
  },

  MatMul: (dy, { g, inputs, wanted }) => {
    const [a, b] = [inputs[0]!, inputs[1]!];
    return [
      wanted(0) ? unbroadcast(g, g.op('MatMul', [dy, matrixTranspose(g, b)]), a.shape) : null,
      wanted(1) ? unbroadcast(g, g.op('MatMul', [matrixTranspose(g, a), dy]), b.shape) : null,
    ];
  },

  // y = x Wᵀ (+ bias). A weight is never transposed: that would be folded into a private copy of it.
  Gemm: (dy, { g, inputs, attributes, wanted }) => {
    const [x, w, bias] = [inputs[0]!, inputs[1]!, inputs[2]];
    if (attributes.transB !== 1) throw new GraphError('Gemm', 'only transB = 1 has a gradient; use MatMul');
    return [
      wanted(0) ? g.op('MatMul', [dy, g.reread(w, dy)]) : null,
      wanted(1) ? g.op('MatMul', [matrixTranspose(g, dy), x]) : null,
      bias && wanted(2) ? unbroadcast(g, dy, bias.shape) : null,
    ];
  },

  // y = r x ⊙ w with r = 1/√(mean x² + ε):  dx = r (dy ⊙ w) − x r³ mean(x ⊙ dy ⊙ w)
  RMSNormalization: (dy, { g, inputs: [x, w], attributes, wanted }) => {
    const r = inverseRms(g, x!, attributes);
    const scaled = g.op('Mul', [dy, w!]);
    const gradient = (): Value => {
      const inner = g.reduce('ReduceMean', g.op('Mul', [x!, scaled]), [-1]);
      const factor = g.op('Mul', [inner, g.op('Mul', [r, r])]);
      return g.op('Mul', [r, g.op('Sub', [scaled, g.op('Mul', [x!, factor])])]);
    };
    return [
      wanted(0) ? gradient() : null,
      wanted(1) ? unbroadcast(g, g.op('Mul', [dy, g.op('Mul', [x!, r])]), w!.shape) : null,
    ];
  },

  // A rotation is undone by the opposite angle.
  RotaryEmbedding: (dy, { g, inputs: [, cos, sin], attributes, wanted }) => {
    if (wanted(1) || wanted(2)) throw new GraphError('RotaryEmbedding', 'angles have no gradient');
    return [g.op('RotaryEmbedding', [dy, cos!, g.op('Neg', [sin!])], attributes), null, null];
  },

  Transpose: (dy, { g, attributes }) => {
    const perm = attributes.perm;
    if (!Array.isArray(perm)) throw new GraphError('Transpose', 'needs perm');
    return [
      g.transpose(
        dy,
        perm.map((_, axis) => perm.indexOf(axis)),
      ),
    ];
  },

  Reshape: (dy, { g, inputs: [x] }) => [g.reshape(dy, x!.shape), null],

  Unsqueeze: (dy, { g, inputs: [x] }) => [g.reshape(dy, x!.shape), null],

  Expand: (dy, { g, inputs: [x] }) => [unbroadcast(g, dy, x!.shape), null],

  Concat: (dy, context) => {
    const { g, inputs, wanted } = context;
    const axis = axisOf(context, 0);
    return inputs.map((input, i) => {
      const before = inputs.slice(0, i).map((earlier) => earlier.shape[axis]!);
      return wanted(i) ? g.slice(dy, axis, before, input.shape[axis]!) : null;
    });
  },

  Split: (_dy, context) => {
    const { g, inputs, cotangents } = context;
    return [g.node('Concat', cotangents, { axis: axisOf(context, 0) }, [inputs[0]!])[0]!, null];
  },

  Gather: (dy, context) => {
    const {
      g,
      inputs: [data, indices],
    } = context;
    if (axisOf(context, 0) !== 0) throw new GraphError('Gather', 'only axis 0 has a gradient');
    const zeros = g.expand(g.scalar(0), data!.shape);
    const rows = g.unsqueeze(indices!, [indices!.shape.length]);
    return [g.node('ScatterND', [zeros, rows, dy], { reduction: 'add' }, [data!])[0]!, null];
  },

  GatherElements: (dy, context) => {
    const {
      g,
      inputs: [data, indices],
    } = context;
    const zeros = g.expand(g.scalar(0), data!.shape);
    const attributes = { axis: axisOf(context, 0), reduction: 'add' };
    return [g.op('ScatterElements', [zeros, indices!, dy], attributes), null];
  },

  ReduceSum: (dy, { g, inputs: [x] }) => [g.expand(dy, x!.shape), null],

  ReduceMean: (dy, { g, inputs: [x], output }) => {
    const [all, kept] = [elements(x!.shape), elements(output.shape)];
    if (all.symbols !== kept.symbols)
      throw new GraphError('ReduceMean', 'over a size known at run time only');
    const share = g.op('Mul', [dy, g.scalar(kept.count / all.count)]);
    return [g.expand(share, x!.shape), null];
  },
};

function elements(shape: Shape): { readonly count: number; readonly symbols: string } {
  const symbols = shape.filter((dim) => typeof dim === 'string').join();
  return {
    count: shape.reduce((product: number, dim) => product * (typeof dim === 'number' ? dim : 1), 1),
    symbols,
  };
}

/** The operators that {@link gradients} can go through. */
export const DIFFERENTIABLE: readonly string[] = Object.keys(VJP_RULES);

/**
 * Emits the gradient of Σ ⟨seed, output⟩ with respect to each of `wrt`, in the order given.
 *
 * Only nodes on a path from `wrt` to an output are visited; whatever else enters them (weights, a KV cache, a
 * value made by {@link detach}) is a constant.
 * @throws GraphError when such a node has no rule, or when a value of `wrt` has no path to an output
 */
export function gradients(
  g: Graph,
  outputs: readonly { readonly value: Value; readonly seed: Value }[],
  wrt: readonly Value[],
): Value[] {
  const forward = [...g.nodes];
  const depends = dependents(g, forward, wrt);
  const cotangents = new Map<Value, Value>();
  const accumulate = (value: Value, gradient: Value): void => {
    if (!sameShape(value.shape, gradient.shape)) {
      throw new GraphError('gradient', `[${gradient.shape}] for a value of shape [${value.shape}]`);
    }
    const sum = cotangents.get(value);
    cotangents.set(value, sum ? g.op('Add', [sum, gradient]) : gradient);
  };

  for (const { value, seed } of outputs) accumulate(value, seed);
  for (const node of forward.reverse()) {
    const { op, outputs, attributes } = node;
    if (
      !outputs.some((output) => cotangents.has(output)) ||
      !g.dependencies(node).some((input) => depends.has(input))
    ) {
      continue;
    }
    const inputs = node.inputs.filter((input) => input !== null);
    const own = g.gradientOf(outputs[0]!);
    if (own) {
      const results = own.rule(cotangents.get(outputs[0]!)!);
      for (const [i, input] of own.inputs.entries()) {
        const gradient = depends.has(input) ? results[i]?.() : null;
        if (gradient) accumulate(input, gradient);
      }
      continue;
    }
    const rule = VJP_RULES[op];
    if (!rule) throw new GraphError(op, 'has no differentiation rule');
    const wanted = (i: number): boolean => depends.has(inputs[i]!);
    const dys = outputs.map((output) => cotangents.get(output) ?? g.expand(g.scalar(0), output.shape));
    const results = rule(dys[0]!, { g, inputs, output: outputs[0]!, cotangents: dys, attributes, wanted });
    inputs.forEach((input, i) => {
      const gradient = results[i];
      if (gradient && wanted(i)) accumulate(input, gradient);
    });
  }

  return wrt.map((value) => {
    const gradient = cotangents.get(value);
    if (!gradient) throw new GraphError('gradient', `no path from ${value.name} to an output`);
    return gradient;
  });
}

/** The same value, as a constant: differentiation does not follow it back. */
export function detach(value: Value): Value {
  return { ...value };
}

function dependents(g: Graph, nodes: readonly Node[], wrt: readonly Value[]): ReadonlySet<Value> {
  const found = new Set(wrt);
  for (const node of nodes) {
    if (node.op === 'Shape') continue; // a size does not depend on the values
    if (g.dependencies(node).some((input) => found.has(input))) {
      for (const output of node.outputs) found.add(output);
    }
  }
  return found;
}
