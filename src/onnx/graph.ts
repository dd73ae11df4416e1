import {
  type Attributes,
  axisFrom,
  type Dim,
  ELEMENT_TYPE_CODE,
  type ElementType,
  GraphError,
  type Shape,
  sameShape,
  type TensorType,
  type Value,
} from './onnx-types.js';
import type { Node } from './operators.js';
import { type AttributesOf, type OperatorName, operatorSpec } from './operators.js';

/** A tensor that stays in a file: ONNX external data. Offsets and lengths are bytes. */
export interface ExternalTensor {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly file: string;
  readonly offset: number;
  readonly byteLength: number;
  /** Reads the values where they are in no file as they are: only inputs of a graph can be given them. */
  readonly values?: () => AsyncIterable<Float32Array>;
}

export type Initializer =
  | { readonly value: Value; readonly raw: Uint8Array }
  | { readonly value: Value; readonly external: ExternalTensor };

/** Differentiation of one value as a function of some that it was made from. */
export interface OwnGradient {
  readonly inputs: readonly Value[];
  /** Given dL/d(value), how to emit dL/d(input) for each of the inputs. */
  readonly rule: (dy: Value) => readonly (() => Value)[];
  /** Given the tangents of the inputs, not all of them `null`, emits that of the value; by default that of its operators. */
  readonly tangent?: (dxs: readonly (Value | null)[]) => Value;
}

/**
 * Builds an ONNX graph operator by operator and keeps what differentiation needs: the nodes in the order in
 * which they run, and the shape of every value, with names for the sizes that are known at run time only.
 *
 * @example
 * const g = new Graph();
 * const x = g.input('x', 'float32', ['rows', 4]);
 * g.output('y', g.op('Mul', [x, g.scalar(2)]));
 */
export class Graph {
  readonly inputs: Value[] = [];
  readonly outputs: { readonly name: string; readonly value: Value }[] = [];
  readonly nodes: Node[] = [];
  readonly initializers: Initializer[] = [];

  readonly #gradients = new Map<Value, OwnGradient>();
  readonly #constants = new Map<string, Value>();
  readonly #sizes = new Map<string, { readonly value: Value; readonly axis: number }>();
  readonly #rereading = new Map<Value, (after: Value) => Value>();
  readonly #nothing = new Map<Value, Value>();
  readonly #dimensions = new Map<string, Value>();
  #count = 0;

  input(name: string, type: ElementType, shape: Shape): Value {
    const value = this.#know({ name, type, shape });
    this.inputs.push(value);
    return value;
  }

  output(name: string, value: Value): void {
    this.outputs.push({ name, value });
  }

  outputAll(values: Readonly<Record<string, Value>>): void {
    for (const [name, value] of Object.entries(values)) this.output(name, value);
  }

  /** Emits an operator with one output whose type and shape follow from its inputs. */
  op<Op extends OperatorName>(op: Op, inputs: readonly Value[], attributes?: AttributesOf<Op>): Value {
    const given: Attributes = { ...attributes };
    const result = operatorSpec(op).infer?.(inputs, given)[0];
    if (!result) throw new GraphError(op, 'its result depends on values; use the method of the builder');
    return this.node(op, inputs, given, [result])[0]!;
  }

  /** Emits an operator whose results' types the caller states. An absent optional input is `null`. */
  node(
    op: OperatorName,
    inputs: readonly (Value | null)[],
    attributes: Attributes,
    results: TensorType[],
  ): Value[] {
    const outputs = results.map(({ type, shape }) => this.#know({ name: this.#name(op), type, shape }));
    this.nodes.push({ op, inputs, outputs, attributes });
    return outputs;
  }

  /**
   * Gives a value a gradient of its own, in place of that of the operators that it was made by: where a shorter way is
   * known than theirs.
   */
  defineGradient(value: Value, gradient: OwnGradient): void {
    this.#gradients.set(value, gradient);
  }

  /** The values that the results of a node are differentiated by. */
  dependencies({ inputs, outputs }: Node): readonly Value[] {
    return this.#gradients.get(outputs[0]!)?.inputs ?? inputs.filter((input) => input !== null);
  }

  gradientOf(value: Value): OwnGradient | undefined {
    return this.#gradients.get(value);
  }

  scalar(number: number): Value {
    return this.floats([number], []);
  }

  floats(numbers: readonly number[], shape: readonly number[]): Value {
    return this.#constant('float32', shape, numbers, new Uint8Array(Float32Array.from(numbers).buffer));
  }

  ints(numbers: readonly number[], shape: readonly number[] = [numbers.length]): Value {
    const raw = new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer);
    return this.#constant('int64', shape, numbers, raw);
  }

  byte(number: number, type: 'uint8' | 'int8' = 'uint8'): Value {
    return this.#constant(type, [], [number], Uint8Array.of(number));
  }

  /** A constant that is too large to be found again by its numbers, as `floats` does: every call adds one. */
  array(data: Float32Array, shape: readonly number[]): Value {
    const value: Value = { name: this.#name('array'), type: 'float32', shape };
    this.initializers.push({ value, raw: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
    return value;
  }

  external(tensor: ExternalTensor): Value {
    const known = this.#constants.get(tensor.name);
    if (known) return known;
    const value: Value = { name: tensor.name, type: tensor.type, shape: tensor.shape };
    this.#constants.set(tensor.name, value);
    this.initializers.push({ value, external: tensor });
    return value;
  }

  /** One byte, so many times, `[size]`. */
  bytes(size: number, byte: number): Value {
    return this.#named(`bytes[${size}]${byte}`, 'uint8', [size], new Uint8Array(size).fill(byte));
  }

  /**
   * A stored weight as fp32. A cast from bf16 or fp16 is tied to `after`, a value of the layer that uses it: see
   * {@link tied}.
   */
  weight(tensor: ExternalTensor, after: Value): Value {
    const stored = this.external(tensor);
    if (stored.type === 'float32') return stored;
    const weight = this.cast(this.tied(stored, after), 'float32');
    return this.rereadable(weight, (later) => this.weight(tensor, later));
  }

  /**
   * A constant that is read once `after` is there. Free of such a tie, onnxruntime computes all that follows from
   * constants first, and holds a second copy of the model.
   * @param shape of the result
   */
  tied(constant: Value, after: Value, shape = constant.shape): Value {
    let nothing = this.#nothing.get(after);
    if (!nothing) {
      nothing = this.op('Mul', [this.#firstSize(after), this.ints([0])]);
      this.#nothing.set(after, nothing);
    }
    const sizes = this.op('Add', [this.ints(shape.map(Number)), nothing]);
    return this.node('Reshape', [constant, sizes], {}, [{ type: constant.type, shape }])[0]!;
  }

  /** Remembers how a value is made of constants again. */
  rereadable(value: Value, again: (after: Value) => Value): Value {
    this.#rereading.set(value, again);
    return value;
  }

  /** The same value for use after another one: made again where keeping it would keep an fp32 copy alive. */
  reread(value: Value, after: Value): Value {
    return this.#rereading.get(value)?.(after) ?? value;
  }

  #firstSize(value: Value): Value {
    return this.node('Shape', [value], { start: 0, end: 1 }, [{ type: 'int64', shape: [1] }])[0]!;
  }

  cast(value: Value, type: ElementType): Value {
    if (value.type === type) return value;
    return this.node('Cast', [value], { to: ELEMENT_TYPE_CODE[type] }, [{ type, shape: value.shape }])[0]!;
  }

  /** Numbers as integers of 8 bits: rounded, plus `zero`. */
  quantize(value: Value, zero: number, type: 'uint8' | 'int8'): Value {
    const inputs = [value, this.scalar(1), this.byte(zero, type)];
    return this.node('QuantizeLinear', inputs, {}, [{ type, shape: value.shape }])[0]!;
  }

  /** A 1-D int64 tensor with these sizes: constant if all are numbers, else assembled when the graph runs. */
  sizes(dims: Shape): Value {
    if (dims.every((dim) => typeof dim === 'number')) return this.ints(dims);
    const key = `sizes ${dims}`;
    const known = this.#constants.get(key);
    if (known) return known;
    const parts = dims.map((dim) => (typeof dim === 'number' ? this.ints([dim]) : this.#dimension(dim)));
    const sizes = parts.length === 1 ? parts[0]! : this.op('Concat', parts, { axis: 0 });
    this.#constants.set(key, sizes);
    return sizes;
  }

  /** Named sizes stay where they are (0) or follow from the rest (−1, once); only beyond that they are read. */
  reshape(value: Value, shape: Shape): Value {
    if (sameShape(value.shape, shape)) return value;
    const kept = (dim: Dim, axis: number): boolean => dim === value.shape[axis];
    const moved = shape.filter((dim, axis) => typeof dim === 'string' && !kept(dim, axis));
    const read = moved.length > 1;
    const target = read
      ? this.sizes(shape)
      : this.ints(shape.map((dim, axis) => (typeof dim === 'number' ? dim : kept(dim, axis) ? 0 : -1)));
    // A size that is read may be 0, and then means that.
    const attributes = read ? { allowzero: 1 } : {};
    return this.node('Reshape', [value, target], attributes, [{ type: value.type, shape }])[0]!;
  }

  transpose(value: Value, perm: readonly number[]): Value {
    return this.op('Transpose', [value], { perm });
  }

  expand(value: Value, shape: Shape): Value {
    if (sameShape(value.shape, shape)) return value;
    return this.node('Expand', [value, this.sizes(shape)], {}, [{ type: value.type, shape }])[0]!;
  }

  unsqueeze(value: Value, axes: readonly number[]): Value {
    const shape = [...value.shape];
    for (const axis of axes) shape.splice(axis, 0, 1);
    return this.node('Unsqueeze', [value, this.ints(axes)], {}, [{ type: value.type, shape }])[0]!;
  }

  /** Entries `start` to `start + size` of one axis. */
  slice(value: Value, axis: number, start: Shape, size: Dim): Value {
    const from = this.#sum(start);
    const to = this.#sum([...start, size]);
    const shape = value.shape.with(axis, size);
    return this.node('Slice', [value, from, to, this.ints([axis])], {}, [{ type: value.type, shape }])[0]!;
  }

  /**
   * Consecutive parts of one axis, one output per size; named sizes are read when the graph runs.
   * @throws GraphError when sizes that are known do not add up to the axis
   */
  split(value: Value, axis: number, sizes: Shape): Value[] {
    const { type, shape } = value;
    const along = axisFrom(axis, shape.length);
    const whole = shape[along];
    const fixed = sizes.filter((size) => typeof size === 'number');
    const total = fixed.reduce((sum, size) => sum + size, 0);
    if (typeof whole === 'number' && fixed.length === sizes.length && total !== whole) {
      throw new GraphError('Split', `[${sizes}] does not add up to axis ${along} of [${shape}]`);
    }
    const parts = sizes.map((size) => ({ type, shape: shape.with(along, size) }));
    return this.node('Split', [value, this.sizes(sizes)], { axis: along }, parts);
  }

  /** Reduced axes stay as ones, or are taken away by a reshape: one form to differentiate. */
  reduce(
    op: 'ReduceSum' | 'ReduceMean' | 'ReduceMax',
    value: Value,
    axes: readonly number[],
    options: { readonly keepDims: boolean } = { keepDims: true },
  ): Value {
    const reduced = new Set(axes.map((axis) => axisFrom(axis, value.shape.length)));
    const shape = value.shape.map((dim, axis) => (reduced.has(axis) ? 1 : dim));
    const result = this.node(op, [value, this.ints([...reduced])], { keepdims: 1 }, [
      { type: value.type, shape },
    ])[0]!;
    if (options.keepDims) return result;
    const left = shape.filter((_, axis) => !reduced.has(axis));
    return this.reshape(result, left);
  }

  #sum(dims: Shape): Value {
    const symbols = dims.filter((dim) => typeof dim === 'string');
    const fixed = dims.reduce((sum: number, dim) => (typeof dim === 'number' ? sum + dim : sum), 0);
    const parts = symbols.map((symbol) => this.#dimension(symbol));
    if (fixed !== 0 || parts.length === 0) parts.push(this.ints([fixed]));
    return parts.reduce((sum, part) => this.op('Add', [sum, part]));
  }

  #dimension(symbol: string): Value {
    const known = this.#dimensions.get(symbol);
    if (known) return known;
    const source = this.#sizes.get(symbol);
    if (!source) throw new GraphError('Shape', `no value has a size named ${symbol}`);
    const attributes = { start: source.axis, end: source.axis + 1 };
    const size = this.node('Shape', [source.value], attributes, [{ type: 'int64', shape: [1] }])[0]!;
    this.#dimensions.set(symbol, size);
    return size;
  }

  #constant(type: ElementType, shape: readonly number[], numbers: readonly number[], raw: Uint8Array): Value {
    return this.#named(`${type}[${shape}]${numbers}`, type, shape, raw);
  }

  /** @param key the same for the same constant */
  #named(key: string, type: ElementType, shape: readonly number[], raw: Uint8Array): Value {
    const known = this.#constants.get(key);
    if (known) return known;
    const value: Value = { name: this.#name('const'), type, shape };
    this.#constants.set(key, value);
    this.initializers.push({ value, raw });
    return value;
  }

  /** Remembers where a named size can be read. */
  #know(value: Value): Value {
    value.shape.forEach((dim, axis) => {
      if (typeof dim === 'string' && !this.#sizes.has(dim)) this.#sizes.set(dim, { value, axis });
    });
    return value;
  }

  #name(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${this.#count}`;
  }
}
