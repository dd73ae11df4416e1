/** Element types of the tensors that flinch's graphs use, by their ONNX names. */
export type ElementType =
  | 'float32'
  | 'float16'
  | 'bfloat16'
  | 'float8e4m3fn'
  | 'int64'
  | 'int32'
  | 'int8'
  | 'uint8'
  | 'bool';

/** Their codes in TensorProto.DataType. */
export const ELEMENT_TYPE_CODE: Readonly<Record<ElementType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  bfloat16: 16,
  float8e4m3fn: 17,
};

/** A size that is known when the graph is built, or the name of one that is known when it runs. */
export type Dim = number | string;
export type Shape = readonly Dim[];

export interface TensorType {
  readonly type: ElementType;
  readonly shape: Shape;
}

/** The result of a node, a graph input or an initializer. Identity matters: differentiation follows objects. */
export interface Value extends TensorType {
  readonly name: string;
}

export type Attribute = number | string | readonly number[];
export type Attributes = Readonly<Record<string, Attribute>>;

/** Raised while a graph is built or differentiated: a mistake in the program, never in its input. */
export class GraphError extends Error {
  readonly type = 'graph';
  readonly op: string;

  constructor(op: string, message: string) {
    super(`${op}: ${message}`);
    this.name = 'GraphError';
    this.op = op;
  }
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, axis) => dim === b[axis]);
}

/** A non-negative axis, counted from the front. */
export function axisFrom(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}
