import { PREFIX } from './safetensors-header.js';

// Apart from safetensors-file.ts, so that the library's public types need none of Node's.

export interface PlannedTensor {
  readonly name: string;
  readonly dtype: keyof typeof BYTES;
  readonly shape: readonly number[];
}

/** A safetensors file before its tensors are written. */
export interface SafetensorsPlan {
  readonly header: Uint8Array;
  readonly byteLength: number;
  /** Position of each tensor, in bytes from the start of the file. */
  readonly places: ReadonlyMap<string, { readonly offset: number; readonly byteLength: number }>;
}

export const BYTES = { F32: 4, I32: 4, F16: 2, BF16: 2, U8: 1, I8: 1 } as const;

/**
 * Plans a file. Tensors follow each other without padding: put those of four bytes first.
 * @param format of what the file holds: a file of another one is not whole
 */
export function planSafetensors(format: string, tensors: readonly PlannedTensor[]): SafetensorsPlan {
  let end = 0;
  const placed = tensors.map(({ name, dtype, shape }) => {
    const begin = end;
    end += shape.reduce((product, size) => product * size, BYTES[dtype]);
    return { name, dtype, shape, data_offsets: [begin, end] as const };
  });
  const header = encodeHeader({
    __metadata__: { format },
    ...Object.fromEntries(placed.map(({ name, ...entry }) => [name, entry])),
  });
  const places = new Map(
    placed.map(({ name, data_offsets: [from, to] }) => [
      name,
      { offset: header.length + from, byteLength: to - from },
    ]),
  );
  return { header, byteLength: header.length + end, places };
}

/** Padded so that what follows is aligned. */
function encodeHeader(entries: Readonly<Record<string, unknown>>): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(entries));
  const length = Math.ceil((PREFIX + json.length) / 64) * 64 - PREFIX;
  const header = new Uint8Array(PREFIX + length).fill(' '.charCodeAt(0));
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(json, PREFIX);
  return header;
}
