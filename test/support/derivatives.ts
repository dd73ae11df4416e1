import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { floats, openSession } from '#src/engine/ort-session.js';
import { gelu, logSoftmax, silu, softCap } from '#src/onnx/functions.js';
import { Graph } from '#src/onnx/graph.js';
import type { Value } from '#src/onnx/onnx-types.js';

/** A function of float inputs that goes through one operator (or one composite of `functions.ts`). */
export interface Case {
  readonly op: string;
  readonly name: string;
  /** Concrete sizes of the float inputs, as in `2 3`; sizes given as names in `dims` become symbolic in the graph. */
  readonly shapes: readonly string[];
  readonly dims?: readonly string[];
  readonly positive?: boolean;
  /** Inputs that are differentiated; all by default. */
  readonly wrt?: readonly number[];
  readonly build: (g: Graph, inputs: Value[]) => Value;
}

export const CASES: Case[] = [
  ...(['Add', 'Sub', 'Mul', 'Div'] as const).flatMap((op): Case[] => [
    {
      op,
      name: 'same shape',
      shapes: ['2 3', '2 3'],
      positive: true,
      build: (g, [a, b]) => g.op(op, [a!, b!]),
    },
    {
      op,
      name: 'broadcast of leading and inner axes',
      shapes: ['2 1 3', '4 1'],
      positive: true,
      build: (g, [a, b]) => g.op(op, [a!, b!]),
    },
    {
      op,
      name: 'broadcast along a named axis',
      shapes: ['2 3', '1 3'],
      dims: ['rows 3', '1 3'],
      positive: true,
      build: (g, [a, b]) => g.op(op, [a!, b!]),
    },
    {
      op,
      name: 'one value used twice',
      shapes: ['3'],
      positive: true,
      build: (g, [a]) => g.op(op, [a!, g.op('Exp', [a!])]),
    },
  ]),
  ...(['Neg', 'Exp', 'Sigmoid', 'Tanh'] as const).map(
    (op): Case => ({ op, name: 'any x', shapes: ['2 3'], build: (g, [x]) => g.op(op, [x!]) }),
  ),
  ...(['Log', 'Sqrt', 'Reciprocal'] as const).map(
    (op): Case => ({
      op,
      name: 'x > 0',
      shapes: ['2 3'],
      positive: true,
      build: (g, [x]) => g.op(op, [x!]),
    }),
  ),
  {
    op: 'Softmax',
    name: 'last axis',
    shapes: ['2 5'],
    build: (g, [x]) => g.op('Softmax', [x!], { axis: -1 }),
  },
  {
    op: 'MatMul',
    name: 'matrices',
    shapes: ['2 3', '3 4'],
    build: (g, [a, b]) => g.op('MatMul', [a!, b!]),
  },
  {
    op: 'MatMul',
    name: 'batched, batch broadcast on both sides',
    shapes: ['2 1 2 3', '4 3 2'],
    build: (g, [a, b]) => g.op('MatMul', [a!, b!]),
  },
  {
    op: 'Gemm',
    name: 'x Wᵀ',
    shapes: ['2 3', '4 3'],
    build: (g, [x, w]) => g.op('Gemm', [x!, w!], { transB: 1 }),
  },
  {
    op: 'Gemm',
    name: 'x Wᵀ + bias',
    shapes: ['2 3', '4 3', '4'],
    build: (g, [x, w, b]) => g.op('Gemm', [x!, w!, b!], { transB: 1 }),
  },
  {
    op: 'RMSNormalization',
    name: 'last axis',
    shapes: ['2 3 4', '4'],
    build: (g, [x, w]) => g.op('RMSNormalization', [x!, w!], { axis: -1, epsilon: 1e-3 }),
  },
  {
    op: 'RotaryEmbedding',
    name: 'rotates halves',
    shapes: ['2 2 3 4'],
    build: (g, [x]) => {
      const angles = Array.from({ length: 12 }, (_, i) => 0.3 * i);
      return g.op('RotaryEmbedding', [
        x!,
        g.floats(angles.map(Math.cos), [2, 3, 2]),
        g.floats(angles.map(Math.sin), [2, 3, 2]),
      ]);
    },
  },
  {
    op: 'Transpose',
    name: 'a cycle of axes',
    shapes: ['2 3 4'],
    build: (g, [x]) => g.transpose(x!, [1, 2, 0]),
  },
  {
    op: 'Reshape',
    name: 'with two named sizes',
    shapes: ['2 3 4'],
    dims: ['batch window 4'],
    build: (g, [x]) => g.reshape(g.op('Exp', [g.reshape(x!, ['rows', 2])]), ['batch', 'window', 2, 2]),
  },
  { op: 'Unsqueeze', name: 'inner axis', shapes: ['2 3'], build: (g, [x]) => g.unsqueeze(x!, [1]) },
  {
    op: 'Expand',
    name: 'along new and unit axes',
    shapes: ['2 1'],
    build: (g, [x]) => g.expand(x!, [3, 2, 4]),
  },
  {
    op: 'Concat',
    name: 'named sizes',
    shapes: ['2 2', '2 3'],
    dims: ['2 past', '2 new'],
    build: (g, [a, b]) => g.op('Concat', [a!, b!], { axis: 1 }),
  },
  {
    op: 'Concat',
    name: 'only the second part wanted',
    shapes: ['2 2', '2 3'],
    dims: ['2 past', '2 new'],
    wrt: [1],
    build: (g, [a, b]) => g.op('Concat', [a!, b!], { axis: 1 }),
  },
  {
    op: 'Split',
    name: 'every part used',
    shapes: ['2 4'],
    build: (g, [x]) => {
      const [a, b] = g.split(x!, -1, [1, 3]);
      return g.op('Mul', [g.op('Exp', [a!]), b!]);
    },
  },
  {
    op: 'Split',
    name: 'one part used, of named sizes',
    shapes: ['2 3', '1 3'],
    dims: ['first 3', 'second 3'],
    build: (g, [a, b]) => {
      const both = g.op('Exp', [g.op('Concat', [a!, b!], { axis: 0 })]);
      return g.op('Neg', [g.split(both, 0, ['second', 'first'])[1]!]);
    },
  },
  {
    op: 'Gather',
    name: 'repeated rows add up',
    shapes: ['4 3'],
    dims: ['rows 3'],
    build: (g, [x]) => g.op('Gather', [x!, g.ints([2, 0, 2])], { axis: 0 }),
  },
  {
    op: 'GatherElements',
    name: 'repeated entries add up',
    shapes: ['2 3'],
    build: (g, [x]) => g.op('GatherElements', [x!, g.ints([2, 2, 0, 1], [2, 2])], { axis: 1 }),
  },
  {
    op: 'ReduceSum',
    name: 'kept axes',
    shapes: ['2 3 4'],
    build: (g, [x]) => g.reduce('ReduceSum', x!, [0, 2]),
  },
  {
    op: 'ReduceSum',
    name: 'dropped axes, of the size of those that stay',
    shapes: ['2 2 2'],
    build: (g, [x]) => g.reduce('ReduceSum', g.op('Mul', [x!, x!]), [0, 2], { keepDims: false }),
  },
  {
    op: 'ReduceMean',
    name: 'kept axes',
    shapes: ['2 3 4'],
    build: (g, [x]) => g.reduce('ReduceMean', x!, [1]),
  },
  {
    op: 'ReduceMean',
    name: 'dropped axis, of the size of one that stays',
    shapes: ['2 2 3'],
    build: (g, [x]) => g.reduce('ReduceMean', g.op('Mul', [x!, x!]), [0], { keepDims: false }),
  },
  {
    op: 'logSoftmax',
    name: 'composite, large logits',
    shapes: ['2 5'],
    build: (g, [x]) => logSoftmax(g, g.op('Add', [x!, g.scalar(30)])),
  },
  { op: 'silu', name: 'composite', shapes: ['2 5'], build: (g, [x]) => silu(g, x!) },
  { op: 'gelu', name: 'composite', shapes: ['2 5'], build: (g, [x]) => gelu(g, x!) },
  { op: 'softCap', name: 'composite', shapes: ['2 5'], build: (g, [x]) => softCap(g, x!, 1.5) },
];

const size = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export function randoms(seed: number, count: number, low: number, high: number): Float32Array {
  const generator = xoroshiro128plus(seed);
  return Float32Array.from({ length: count }, () => low + (high - low) * uniformFloat64(generator));
}

/** Sizes, of which some are names. */
const namedSizes = (text: string): (number | string)[] =>
  text.split(' ').map((size) => (/^\d+$/.test(size) ? Number(size) : size));

/** A case with random inputs, and its function as onnxruntime computes it. */
export async function openCase({ shapes: sizes, dims, positive, build }: Case) {
  const shapes = sizes.map((text) => text.split(' ').map(Number));
  const data = shapes.map((shape, i) => randoms(7 + i, size(shape), positive ? 0.5 : -1.5, 1.5));
  const declare = (g: Graph): Value[] =>
    shapes.map((shape, i) => g.input(`x${i}`, 'float32', dims ? namedSizes(dims[i]!) : shape));
  const feeds = (values: readonly Float32Array[]) =>
    Object.fromEntries(values.map((value, i) => [`x${i}`, floats(value, shapes[i]!)]));

  const g = new Graph();
  g.output('y', build(g, declare(g)));
  const session = await openSession(g, { threads: 1 });
  const run = async (values: readonly Float32Array[]) => {
    const { y } = await session.run(feeds(values));
    if (!(y?.data instanceof Float32Array)) throw new Error('y is not float32');
    return { data: y.data, dims: y.dims };
  };
  return { shapes, data, declare, feeds, run };
}

/** An output must be the result of a node, and of no other output; a derivative may be a value that is given. */
export const asResult = (g: Graph, value: Value): Value => g.op('Neg', [g.op('Neg', [value])]);

/** Half the distance of the points of a central difference. */
export const STEP = 1e-2;

/** How far fp32 central differences may be off. */
export const tolerance = (expected: number): number => 2e-3 * Math.max(1, Math.abs(expected));
