import { ModelError } from '../../files/file-errors.js';
import { allFinite, CHUNK_BYTES, type PackedWeight } from '../conversion.js';
import { encodeElements } from '../elements.js';
import type { PackedFormat, PackedRows } from '../packed.js';
import { readTensor, withFile } from '../read-file.js';
import type { FileTensor } from '../safetensors.js';
import type { QuantizedWeight } from './find.js';
import type { Layout, StoredPart } from './layouts.js';
import { int32s, rowReader, type Size } from './matrix-rows.js';

/**
 * A quantised matrix as it is kept: its integers in the parts of a packed one.
 * @throws ModelError naming the part that is wrong
 */
export function convertedQuantized(weight: QuantizedWeight): PackedWeight {
  const { name, shape } = weight;
  const format = packedFormat(weight);
  const integers = integersInPlace(weight, format);
  const chunks = () => packedRows(weight, { format, inPlace: integers !== null });
  return { name, shape, type: 'packed', format, integers, chunks };
}

const BLOCKS = [128, 64, 32, 16] as const;

function packedFormat({ quantization, values, scales, zeros, layout, shape }: QuantizedWeight): PackedFormat {
  const { type, bits, block, symmetric, reordered } = quantization;
  const [, columns] = shape;
  const group = block[1] ?? columns;
  const size = BLOCKS.find((each) => group % each === 0 && columns % each === 0);
  if (size === undefined) {
    const problem = `has ${columns} columns in groups of ${group}, which are no multiples of 16`;
    throw new ModelError(values.file, values.name, problem);
  }
  const moved = !symmetric && zeros !== null;
  return {
    bits,
    block: size,
    scales: 'units',
    offsets: moved ? 'factors' : null,
    // Each block of a row whose last group is a part of one has its own unit.
    group: columns % group === 0 ? group / size : 1,
    zero: moved ? middleOf(bits) : layout.zero + signedBy(layout, bits),
    type: scales.type ?? 'fp32',
    ...(type === 'float' && { float: 'e4m3' }),
    ...(reordered && { ordered: true }),
  };
}

/** Zero-points that differ become offsets: those of 8 bits are kept around 0, as factors have a sign. */
const middleOf = (bits: 4 | 8): number => (bits === 8 ? 128 : 0);

/** What is added to stored values that have a sign. */
const signedBy = ({ values }: Layout, bits: 4 | 8): number =>
  bits === 8 && values.dtypes.includes('I8') ? 128 : 0;

/** Where graphs read the checkpoint's own bytes: FP8, and words of neighbours in a row. */
function integersInPlace({ layout, values }: QuantizedWeight, { float, ordered }: PackedFormat) {
  const { packed, transposed } = layout.values;
  const asRead = float !== undefined || (packed === 'columns' && !transposed && !ordered);
  return asRead ? { file: values.file, offset: values.offset } : null;
}

/** Reads the parts of a matrix, and brings some rows at a time into the format. */
async function* packedRows(
  weight: QuantizedWeight,
  { format, inPlace }: { readonly format: PackedFormat; readonly inPlace: boolean },
): AsyncGenerator<PackedRows> {
  const { shape, layout, quantization, values, scaleSize, size } = weight;
  const [rows, columns] = shape;
  const { bits, type, block, group } = format;
  if (size) checkSize(size, await read(size), shape);
  const readPart: ReadPart = async (part, tensor, of) =>
    rowReader({ part, tensor, bytes: await read(tensor), size: of }, bits, layout.places);
  const valuesOf = await readPart(layout.values, values, shape);
  const scales = await scalesOf(weight, readPart);
  const zeros = await zerosOf(weight, readPart);
  const groups = await groupsOf(weight); // checked, also where they are in order
  const order = format.ordered && groups ? orderOf(weight, groups) : null;
  const add = signedBy(layout, bits);
  const middle = middleOf(bits) - add;
  const perRow = columns / block;
  const groupOf = (b: number): number => Math.floor((b * block) / (quantization.block[1] ?? columns));
  const most = Math.max(1, Math.floor(CHUNK_BYTES / (4 * columns)));
  for (let row = 0; row < rows; row += most) {
    const count = Math.min(most, rows - row);
    const integers = new Uint8Array(inPlace ? 0 : (count * columns * bits) / 8);
    const units = new Float32Array((count * perRow) / group);
    const factors = new Int8Array(format.offsets === null ? 0 : count * perRow);
    const out = new Float32Array(columns);
    for (let i = 0; i < count; i += 1) {
      valuesOf(row + i, out);
      if (format.float && !allFinite(out))
        throw new ModelError(values.file, values.name, 'contains NaN or infinity');
      if (!inPlace) {
        const stored = order ? out.map((_, k) => out[order[k]!]!) : out;
        const at = (i * columns * bits) / 8;
        if (bits === 8) for (let k = 0; k < columns; k += 1) integers[at + k] = stored[k]! + add;
        else for (let k = 0; k < columns; k += 2) integers[at + k / 2] = stored[k]! | (stored[k + 1]! << 4);
      }
      const first = Math.floor((row + i) / (quantization.block[0] ?? rows)) * scaleSize[1];
      for (let b = 0; b < perRow; b += group) units[(i * perRow + b) / group] = scales[first + groupOf(b)]!;
      for (let b = 0; b < factors.length / count; b += 1) {
        factors[i * perRow + b] = zeros[first + groupOf(b)]! - middle;
      }
    }
    yield {
      ...(order && row === 0 && { order: new Uint8Array(order.buffer) }),
      ...(!inPlace && { integers }),
      scale_units: encodeElements(type, units),
      ...(format.offsets !== null && {
        offset_factors: new Uint8Array(factors.buffer),
        offset_units: encodeElements(
          type,
          units.map((unit) => -unit),
        ),
      }),
    };
  }
}

/**
 * The columns group by group, and then the place of each column among these. Groups are as large as
 * quantization_config says: blocks have one scale.
 */
function orderOf({ quantization, shape, groups }: QuantizedWeight, groupOf: Int32Array): Int32Array {
  const columns = shape[1];
  const size = quantization.block[1] ?? columns;
  const order = Int32Array.from({ length: columns }, (_, i) => i).sort((a, b) => groupOf[a]! - groupOf[b]!);
  const wrong = order.findIndex((column, i) => groupOf[column] !== Math.floor(i / size));
  if (wrong >= 0) {
    const problem = `has no ${size} columns of group ${Math.floor(wrong / size)} (quantization_config)`;
    throw new ModelError(groups!.file, groups!.name, problem);
  }
  const places = new Int32Array(columns);
  for (const [i, column] of order.entries()) places[column] = i;
  return Int32Array.from([...order, ...places]);
}

type ReadPart = (
  part: StoredPart,
  tensor: FileTensor,
  of: Size,
) => Promise<(row: number, out: Float32Array) => void>;

async function scalesOf({ layout, scales, scaleSize }: QuantizedWeight, readPart: ReadPart) {
  const all = allRows(await readPart(layout.scales, scales, scaleSize), scaleSize);
  if (!allFinite(all)) throw new ModelError(scales.file, scales.name, 'contains NaN or infinity');
  return all;
}

/**
 * Zero-points, one for each scale. If all zero-points are equal, some GPTQ files say v1 and hold those of v2
 * (vLLM, pull request 38966): either is accepted.
 */
async function zerosOf({ layout, zeros, scaleSize, quantization }: QuantizedWeight, readPart: ReadPart) {
  const alike = new Float32Array(scaleSize[0] * scaleSize[1]).fill(layout.zero);
  if (!zeros || !layout.zeros) return alike;
  const all = allRows(await readPart(layout.zeros, zeros, scaleSize), scaleSize);
  if (quantization.symmetric) {
    const other = all.find((zero) => zero !== layout.zero && zero !== layout.zero - 1);
    if (other === undefined) return alike;
    throw new ModelError(zeros.file, zeros.name, `contains ${other}, which does not fit "sym": true`);
  }
  if (layout.zeroOffset === 0) return all;
  const last = 2 ** quantization.bits - 1;
  if (all.includes(last)) {
    const problem = `contains ${last}, which servers read as ${last + 1} or 0 (checkpoint_format gptq_v2 is not ambiguous)`;
    throw new ModelError(zeros.file, zeros.name, problem);
  }
  return all.map((zero) => zero + layout.zeroOffset);
}

function allRows(readRow: (row: number, out: Float32Array) => void, [rows, columns]: Size): Float32Array {
  const all = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1) readRow(row, all.subarray(row * columns, (row + 1) * columns));
  return all;
}

/** The group of each column, where the file tells it. */
async function groupsOf(weight: QuantizedWeight): Promise<Int32Array | null> {
  const { groups, shape, scaleSize, quantization } = weight;
  if (!groups) return null;
  const stored = int32s(await read(groups));
  const wrong = stored.find((group) => group < 0 || group >= scaleSize[1]);
  if (wrong !== undefined) {
    throw new ModelError(groups.file, groups.name, `contains ${wrong}, but there are ${scaleSize[1]} groups`);
  }
  const size = quantization.block[1] ?? shape[1];
  if (!quantization.reordered && stored.some((group, i) => group !== Math.floor(i / size))) {
    const problem = 'reorders columns, which quantization_config does not say';
    throw new ModelError(groups.file, groups.name, problem);
  }
  return stored;
}

function checkSize({ file, name }: FileTensor, bytes: Uint8Array, shape: Size): void {
  const stated = [...new BigInt64Array(bytes.buffer)];
  if (stated[0] === BigInt(shape[0]) && stated[1] === BigInt(shape[1])) return;
  throw new ModelError(file, name, `says [${stated}], config.json implies [${shape}]`);
}

const read = (tensor: FileTensor): Promise<Uint8Array> =>
  withFile(tensor.file, (handle) => readTensor(handle, tensor));
