import { ModelError } from '../../files/errors.js';
import { allFinite, CHUNK_BYTES, type ConvertedWeight } from '../conversion.js';
import type { FileTensor } from '../safetensors.js';
import { openWeights } from '../weights-file.js';
import type { QuantizedWeight } from './find.js';
import type { StoredPart } from './layouts.js';
import { int32s, rowReader, type Size } from './rows.js';

/** A quantised matrix as fp32: (value − zero-point) · scale. Throws ModelError naming the part that is wrong. */
export const unpackedQuantized = (weight: QuantizedWeight): ConvertedWeight => ({
  ...{ name: weight.name, shape: weight.shape, type: 'fp32' },
  chunks: () => unpackedRows(weight),
});

async function* unpackedRows(weight: QuantizedWeight): AsyncGenerator<Uint8Array> {
  const { quantization, values, shape, layout, size } = weight;
  const [rows, columns] = shape;
  if (size) checkSize(size, await read(size), shape);
  const readPart = async (part: StoredPart, tensor: FileTensor, of: Size) =>
    rowReader(
      { part, dtype: tensor.dtype, bytes: await read(tensor), size: of },
      quantization.bits,
      layout.places,
    );
  const valuesOf = await readPart(layout.values, values, shape);
  const scales = await scalesOf(weight, readPart);
  const zeros = await zerosOf(weight, readPart);
  const groups = await groupsOf(weight);
  const [, count] = weight.scaleSize;
  const blockRows = quantization.block[0] ?? rows;
  const most = Math.max(1, Math.floor(CHUNK_BYTES / (4 * columns)));
  for (let row = 0; row < rows; row += most) {
    const out = new Float32Array(Math.min(most, rows - row) * columns);
    for (let i = 0; i < out.length / columns; i += 1) {
      const of = out.subarray(i * columns, (i + 1) * columns);
      valuesOf(row + i, of);
      const block = Math.floor((row + i) / blockRows) * count;
      for (let column = 0; column < columns; column += 1) {
        const at = block + groups[column]!;
        of[column] = (of[column]! - zeros[at]!) * scales[at]!;
      }
    }
    if (!allFinite(out)) throw new ModelError(values.file, values.name, 'contains NaN or infinity');
    yield new Uint8Array(out.buffer);
  }
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
    throw new ModelError(
      zeros.file,
      zeros.name,
      `contains ${last}, which servers read as ${last + 1} or 0 (checkpoint_format gptq_v2 is not ambiguous)`,
    );
  }
  return all.map((zero) => zero + layout.zeroOffset);
}

function allRows(readRow: (row: number, out: Float32Array) => void, [rows, columns]: Size): Float32Array {
  const all = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1) readRow(row, all.subarray(row * columns, (row + 1) * columns));
  return all;
}

/** The group of each column. */
async function groupsOf({
  groups,
  shape,
  scaleSize,
  quantization,
}: QuantizedWeight): Promise<ArrayLike<number>> {
  const length = shape[1];
  const inOrder = Uint32Array.from({ length }, (_, i) => Math.floor(i / (quantization.block[1] ?? length)));
  if (!groups) return inOrder;
  const stored = int32s(await read(groups));
  const wrong = stored.find((group) => group < 0 || group >= scaleSize[1]);
  if (wrong !== undefined) {
    throw new ModelError(groups.file, groups.name, `contains ${wrong}, but there are ${scaleSize[1]} groups`);
  }
  if (!quantization.reordered && stored.some((group, i) => group !== inOrder[i])) {
    throw new ModelError(
      groups.file,
      groups.name,
      'reorders columns, which quantization_config does not say',
    );
  }
  return stored;
}

function checkSize({ file, name }: FileTensor, bytes: Uint8Array, shape: Size): void {
  const stated = [...new BigInt64Array(bytes.buffer)];
  if (stated[0] === BigInt(shape[0]) && stated[1] === BigInt(shape[1])) return;
  throw new ModelError(file, name, `says [${stated}], config.json implies [${shape}]`);
}

async function read({ file, name, offset, byteLength }: FileTensor): Promise<Uint8Array> {
  const from = await openWeights(file);
  try {
    const { buffer, bytesRead } = await from.read(new Uint8Array(byteLength), 0, byteLength, offset);
    if (bytesRead < byteLength) throw new ModelError(file, name, 'ends before its last element');
    return buffer;
  } finally {
    await from.close();
  }
}
