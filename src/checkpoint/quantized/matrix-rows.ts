import { decodeElements, E4M3 } from '../elements.js';
import type { FileTensor } from '../safetensors.js';
import type { StoredPart } from './layouts.js';

export type Size = readonly [rows: number, columns: number];

const WORD_BITS = 32;

/** The shape of a part of so many rows and columns. */
export function storedSize({ packed, transposed }: StoredPart, [rows, columns]: Size, bits: number): Size {
  const words = (count: number): number => Math.ceil((count * bits) / WORD_BITS);
  const size: Size = [
    packed === 'rows' ? words(rows) : rows,
    packed === 'columns' ? words(columns) : columns,
  ];
  return transposed ? [size[1], size[0]] : size;
}

interface PartBytes {
  readonly part: StoredPart;
  readonly tensor: Pick<FileTensor, 'dtype' | 'type'>;
  readonly bytes: Uint8Array;
  readonly size: Size;
}

/**
 * Reads a part row by row, whatever its layout.
 * @param places where in a word each of its neighbours is
 */
export function rowReader(
  { part, tensor, bytes, size }: PartBytes,
  bits: number,
  places: readonly number[],
): (row: number, out: Float32Array) => void {
  const element = elementsOf(tensor, bytes);
  const [, inner] = storedSize(part, size, bits);
  const [rowStep, columnStep] = part.transposed ? [1, inner] : [inner, 1];
  const columns = size[1];
  if (part.packed === null) {
    return (row, out) => {
      for (let i = 0; i < columns; i += 1) out[i] = element(row * rowStep + i * columnStep);
    };
  }
  const [perWord, mask] = [WORD_BITS / bits, 2 ** bits - 1];
  const shifts = places.map((place) => bits * place);
  if (part.packed === 'rows') {
    return (row, out) => {
      const [start, shift] = [Math.floor(row / perWord) * rowStep, shifts[row % perWord]!];
      for (let i = 0; i < columns; i += 1) out[i] = (element(start + i * columnStep) >>> shift) & mask;
    };
  }
  return (row, out) => {
    const start = row * rowStep;
    for (let i = 0; i < columns; i += 1) {
      const word = element(start + Math.floor(i / perWord) * columnStep);
      out[i] = (word >>> shifts[i % perWord]!) & mask;
    }
  };
}

/** @param bytes aligned to the elements */
function elementsOf({ dtype, type }: PartBytes['tensor'], bytes: Uint8Array): (i: number) => number {
  if (dtype === 'I8') return (i) => (bytes[i]! << 24) >> 24;
  if (dtype === 'F8_E4M3') return (i) => E4M3[bytes[i]!]!;
  const elements = type === null ? int32s(bytes) : decodeElements(type, bytes);
  return (i) => elements[i]!;
}

export const int32s = (bytes: Uint8Array): Int32Array =>
  new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
