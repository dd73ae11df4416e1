import {
  type Attributes,
  axisFrom,
  type Dim,
  type ElementType,
  GraphError,
  type Shape,
  type TensorType,
  type Value,
} from './onnx-types.js';

type AttributeKind = 'int' | 'float' | 'ints' | 'string';

type AttributeType<K extends AttributeKind> = K extends 'ints'
  ? readonly number[]
  : K extends 'string'
    ? string
    : number;

interface OperatorSpec {
  /** Empty for standard ONNX; `com.microsoft` for products of integers. */
  readonly domain?: 'com.microsoft';
  readonly attributes: Readonly<Record<string, AttributeKind>>;
  /** Type and shape of every output, or absent where they depend on the values of inputs. */
  readonly infer?: (inputs: readonly TensorType[], attributes: Attributes) => TensorType[];
}

const numberOf = (attributes: Attributes, name: string, otherwise: number): number => {
  const value = attributes[name];
  return typeof value === 'number' ? value : otherwise;
};

/** The shape of an elementwise operator's result (numpy broadcasting). */
export function broadcast(op: string, a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis): Dim => {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    if (left === right || right === 1) return left;
    if (left === 1) return right;
    throw new GraphError(op, `cannot broadcast [${a}] with [${b}]`);
  });
}

const first = (inputs: readonly TensorType[]): TensorType => {
  const value = inputs[0];
  if (!value) throw new GraphError('operator', 'has no input');
  return value;
};
const second = (inputs: readonly TensorType[]): TensorType => first(inputs.slice(1));

const likeFirst = (inputs: readonly TensorType[]): TensorType[] => [first(inputs)];

const same: OperatorSpec = { attributes: {}, infer: likeFirst };

const elementwise = (op: string, result?: ElementType): OperatorSpec => ({
  attributes: {},
  infer: (inputs) => [
    {
      type: result ?? first(inputs).type,
      shape: broadcast(op, first(inputs).shape, second(inputs).shape),
    },
  ],
});

/** The axes of a reduction are an input in ONNX; the builder passes them with the result's type. */
const reduction: OperatorSpec = { attributes: { keepdims: 'int' } };

const matMul = (inputs: readonly TensorType[]): TensorType[] => {
  const [a, b] = [first(inputs), second(inputs)];
  const [rows, inner] = a.shape.slice(-2);
  const [innerB, columns] = b.shape.slice(-2);
  if (rows === undefined || columns === undefined || inner !== innerB) {
    throw new GraphError('MatMul', `cannot multiply [${a.shape}] by [${b.shape}]`);
  }
  const batch = broadcast('MatMul', a.shape.slice(0, -2), b.shape.slice(0, -2));
  return [{ type: a.type, shape: [...batch, rows, columns] }];
};

/** The sides of a product of integers may be of two types. */
const untyped = ({ shape }: TensorType): TensorType => ({ type: 'int32', shape });

const gemm = (inputs: readonly TensorType[], attributes: Attributes): TensorType[] => {
  const [a, b] = [first(inputs), second(inputs)];
  const [out, inner] = attributes.transB === 1 ? b.shape : [...b.shape].reverse();
  if (a.shape.length !== 2 || b.shape.length !== 2 || a.shape[1] !== inner || out === undefined) {
    throw new GraphError('Gemm', `cannot multiply [${a.shape}] by [${b.shape}]`);
  }
  return [{ type: a.type, shape: [a.shape[0] ?? 1, out] }];
};

const gather = (inputs: readonly TensorType[], attributes: Attributes): TensorType[] => {
  const [data, indices] = [first(inputs), second(inputs)];
  const axis = axisFrom(numberOf(attributes, 'axis', 0), data.shape.length);
  return [
    {
      type: data.type,
      shape: [...data.shape.slice(0, axis), ...indices.shape, ...data.shape.slice(axis + 1)],
    },
  ];
};

const concat = (inputs: readonly TensorType[], attributes: Attributes): TensorType[] => {
  const { type, shape } = first(inputs);
  const axis = axisFrom(numberOf(attributes, 'axis', 0), shape.length);
  const dims = inputs.map((input) => input.shape[axis] ?? 1);
  const total = dims.every((dim) => typeof dim === 'number')
    ? dims.reduce((sum: number, dim) => sum + dim, 0)
    : dims.join('+');
  return [{ type, shape: shape.with(axis, total) }];
};

const transpose = (inputs: readonly TensorType[], attributes: Attributes): TensorType[] => {
  const { type, shape } = first(inputs);
  const perm = attributes.perm;
  if (!Array.isArray(perm)) throw new GraphError('Transpose', 'needs perm');
  return [{ type, shape: perm.map((axis: number) => shape[axis] ?? 1) }];
};

/**
 * Every operator that flinch emits: standard ONNX, opset 23, but for products of integers.
 * One entry gives its attributes with their kinds and the rule for its result's shape.
 */
export const OPERATORS = {
  Add: elementwise('Add'),
  Sub: elementwise('Sub'),
  Mul: elementwise('Mul'),
  Div: elementwise('Div'),
  Equal: elementwise('Equal', 'bool'),
  Less: elementwise('Less', 'bool'),
  Greater: elementwise('Greater', 'bool'),
  GreaterOrEqual: elementwise('GreaterOrEqual', 'bool'),
  And: elementwise('And', 'bool'),
  Identity: same,
  Abs: same,
  Neg: same,
  Exp: same,
  Floor: same,
  Log: same,
  Reciprocal: same,
  Sqrt: same,
  Sigmoid: same,
  Tanh: same,
  Softmax: { attributes: { axis: 'int' }, infer: likeFirst },
  Where: {
    attributes: {},
    infer: ([condition, a, b]) => {
      if (!condition || !a || !b) throw new GraphError('Where', 'needs three inputs');
      return [
        { type: a.type, shape: broadcast('Where', broadcast('Where', a.shape, b.shape), condition.shape) },
      ];
    },
  },
  Cast: { attributes: { to: 'int' } },
  MatMul: { attributes: {}, infer: matMul },
  Gemm: { attributes: { transB: 'int' }, infer: gemm },
  RMSNormalization: { attributes: { axis: 'int', epsilon: 'float' }, infer: likeFirst },
  RotaryEmbedding: { attributes: { num_heads: 'int', rotary_embedding_dim: 'int' }, infer: likeFirst },
  Transpose: { attributes: { perm: 'ints' }, infer: transpose },
  Concat: { attributes: { axis: 'int' }, infer: concat },
  Gather: { attributes: { axis: 'int' }, infer: gather },
  GatherElements: {
    attributes: { axis: 'int' },
    infer: (inputs) => [{ type: first(inputs).type, shape: second(inputs).shape }],
  },
  ScatterElements: { attributes: { axis: 'int', reduction: 'string' }, infer: likeFirst },
  ScatterND: { attributes: { reduction: 'string' }, infer: likeFirst },
  Reshape: { attributes: { allowzero: 'int' } },
  Expand: { attributes: {} },
  Slice: { attributes: {} },
  Split: { attributes: { axis: 'int' } },
  Shape: { attributes: { start: 'int', end: 'int' } },
  Unsqueeze: { attributes: {} },
  ReduceSum: reduction,
  ReduceMean: reduction,
  ReduceMax: reduction,
  ArgMax: { attributes: { axis: 'int', keepdims: 'int' } },
  /** Integers of one type times a scale for each index of an axis. */
  DequantizeLinear: {
    attributes: { axis: 'int' },
    infer: (inputs) => [{ type: 'float32', shape: first(inputs).shape }],
  },
  /** Numbers over a scale, rounded to the nearest integer and held in the range of the type; the zero, if there is one, is added. */
  QuantizeLinear: { attributes: {} },
  /** A product of integers with sums of 32 bits, of which each side's zero was taken off. */
  MatMulInteger: {
    attributes: {},
    infer: (inputs) => [{ type: 'int32', shape: matMul(inputs.map(untyped).slice(0, 2))[0]!.shape }],
  },
  BitwiseAnd: elementwise('BitwiseAnd'),
  BitShift: { ...elementwise('BitShift'), attributes: { direction: 'string' } },
  TopK: { attributes: { axis: 'int', largest: 'int', sorted: 'int' } },
  /** x Wᵀ of a weight `[out, in]` in integers, `[out, blocks, size]`, with a scale for each block, `[out, blocks]`. */
  MatMulNBits: {
    domain: 'com.microsoft',
    attributes: { K: 'int', N: 'int', bits: 'int', block_size: 'int', accuracy_level: 'int' },
    infer: (inputs) => [
      { type: first(inputs).type, shape: [first(inputs).shape[0]!, second(inputs).shape[0]!] },
    ],
  },
} as const satisfies Record<string, OperatorSpec>;

export type OperatorName = keyof typeof OPERATORS;

/** The attributes of one operator, all optional as in ONNX. */
export type AttributesOf<Op extends OperatorName> = {
  readonly [Name in keyof (typeof OPERATORS)[Op]['attributes']]?: (typeof OPERATORS)[Op]['attributes'][Name] extends infer Kind extends
    AttributeKind
    ? AttributeType<Kind>
    : never;
};

export function operatorSpec(op: OperatorName): OperatorSpec {
  return OPERATORS[op];
}

export interface Node {
  readonly op: OperatorName;
  /** An absent optional input is `null`. */
  readonly inputs: readonly (Value | null)[];
  readonly outputs: readonly Value[];
  readonly attributes: Attributes;
}
