import { type PackedPart, type PackedTensor, packedRowBytes } from '../checkpoint/packed.js';
import type { ExternalTensor, Graph } from '../onnx/graph.js';
import type { ElementType, Shape, Value } from '../onnx/onnx-types.js';

/** How graphs read the parts of a matrix in integers, and make values of them. */

export const ELEMENT_TYPE = { fp32: 'float32', fp16: 'float16', bf16: 'bfloat16' } as const;

/** What of the stored bytes is multiplied: of integers of 4 bits, two are in a byte. */
export type Integers = 'bytes' | 'low halves';

/** How graphs read integers. */
export interface IntegersRead {
  readonly of: Integers;
  /** On a GPU. */
  readonly onGpu: boolean;
}

/**
 * The integers times their scales, fp32 `[out, in]`, or `[out, in / 2]` for integers of 4 bits. They are read as rows of
 * one block each: with a scale for each row, `DequantizeLinear` is four times as fast as by blocks.
 */
export function scaledIntegers(
  g: Graph,
  part: PackedTensor,
  read: IntegersRead,
  after: Value,
  scales = blockScales(g, part, after),
): Value {
  const { shape, format } = part;
  const [perRow, bytes] = [shape[1] / format.block, (format.block * format.bits) / 8];
  const blocks = shape[0] * perRow;
  const inShape = (dims: readonly number[]): Value =>
    g.external(external(part, 'integers', storedType(format), dims));
  // In the shape of `MatMulNBits`: a GPU is given once what a graph reads in one shape.
  const stored = read.onGpu
    ? g.tied(inShape([shape[0], perRow, bytes]), after, [blocks, bytes])
    : inShape([blocks, bytes]);
  const values =
    read.of === 'low halves' && read.onGpu
      ? g.op('Mul', [lowHalves(g, stored), g.reshape(scales, [blocks, 1])])
      : g.op(
          'DequantizeLinear',
          [
            read.of === 'low halves' ? g.op('BitwiseAnd', [g.tied(stored, after), g.byte(15)]) : stored,
            scales,
            ...(format.bits === 8 && format.zero !== 0 ? [g.bytes(blocks, format.zero)] : []),
          ],
          { axis: 0 },
        );
  const result = g.reshape(values, [shape[0], (shape[1] * format.bits) / 8]);
  return g.rereadable(result, (later) => scaledIntegers(g, part, read, later));
}

/** By arithmetic in fp32: GPUs have no operator for the halves of a byte. */
function lowHalves(g: Graph, stored: Value): Value {
  const bytes = g.cast(stored, 'float32');
  const high = g.op('Floor', [g.op('Mul', [bytes, g.scalar(1 / 16)])]);
  return g.op('Sub', [bytes, g.op('Mul', [high, g.scalar(16)])]);
}

export const storedType = ({ float }: PackedTensor['format']): ElementType =>
  float ? 'float8e4m3fn' : 'uint8';

/** One scale for each block, fp32 `[out × blocks]`. */
export function blockScales(g: Graph, part: PackedTensor, after: Value): Value {
  const { shape, format } = part;
  const take = (units: Value): Value => g.tied(units, after);
  return numbers(g, part, 'scale', { take, shape: [(shape[0] * shape[1]) / format.block] });
}

/** What is added to all inputs of a block, fp32 `[out, blocks]`: the offset, for 4 bits less zero times the scale. */
export function blockOffsets(g: Graph, part: PackedTensor, after: Value): Value {
  const { bits, zero, offsets } = part.format;
  const [out, inner] = part.shape;
  const reading = {
    take: (stored: Value): Value => g.tied(stored, after),
    shape: [out, inner / part.format.block],
  };
  const moved =
    bits === 4 && zero !== 0 ? g.op('Mul', [numbers(g, part, 'scale', reading), g.scalar(-zero)]) : null;
  const given = offsets === null ? null : numbers(g, part, 'offset', reading);
  const value = moved && given ? g.op('Add', [moved, given]) : (moved ?? given)!;
  return g.rereadable(value, (later) => blockOffsets(g, part, later));
}

/** How numbers are read: what is done with them as stored, and the shape that is wanted, whose rows may be others. */
interface Reading {
  readonly take: (stored: Value) => Value;
  readonly shape: Shape;
}

/** Scales or offsets of all blocks of some rows, fp32; `[out, blocks]` by default. */
export function numbers(g: Graph, weight: PackedTensor, kind: 'scale' | 'offset', reading?: Reading): Value {
  const { format } = weight;
  const [out, inner] = weight.shape;
  const [blocks, { group }] = [Math.ceil(inner / format.block), format];
  const { take, shape } = reading ?? { take: (stored: Value) => stored, shape: [out, blocks] };
  // In the shape that is needed from the start: onnxruntime 1.30 fails to merge two Reshapes of which one is tied.
  const read = (
    part: 'scale_units' | 'scale_factors' | 'offset_units' | 'offset_factors',
    type: ElementType,
    dims: readonly number[],
  ): Value => g.cast(take(g.external(external(weight, part, type, dims))), 'float32');
  const [units, factors] = [`${kind}_units`, `${kind}_factors`] as const;
  const type = ELEMENT_TYPE[format.type];
  const factored = format[`${kind}s`] === 'factors';
  if (!factored && group === 1) return read(units, type, shape.length === 1 ? [out * blocks] : [out, blocks]);
  const column = read(units, type, [out, blocks / group, 1]);
  const all = factored
    ? g.op('Mul', [read(factors, 'int8', [out, blocks / group, group]), column])
    : g.expand(column, column.shape.with(2, group));
  return g.reshape(all, shape);
}

/** A part of a packed matrix as the graph reads it; only the sizes of the whole matter. */
export function external(
  { name, format, shape, places }: PackedTensor,
  part: Exclude<PackedPart, 'order'>,
  type: ElementType,
  dims: readonly number[],
): ExternalTensor {
  const byteLength = shape[0] * packedRowBytes(shape[1], format).get(part)!;
  const { file, offset } = places[part]!;
  // One part may be read as several types.
  return { name: `${name}.${part}.${type}[${dims}]`, type, shape: dims, file, offset, byteLength };
}

/** Columns `[rows, in]` in the order in which a matrix stores them, or back in that of its inputs. */
export function reordered(
  g: Graph,
  columns: Value,
  { name, shape: [, inner], places }: PackedTensor,
  to: 'stored' | 'inputs',
): Value {
  const { order } = places;
  if (!order) return columns;
  const byteLength = 4 * inner;
  const offset = order.offset + (to === 'stored' ? 0 : byteLength);
  const tensor = { name: `${name}.order.${to}`, type: 'int32', shape: [inner], byteLength } as const;
  return g.op('Gather', [columns, g.external({ ...tensor, file: order.file, offset })], { axis: 1 });
}
