import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../files/json.js';
import { PREFIX } from './safetensors-header.js';

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

/** Whether the file is there, as planned and not cut. */
export async function isWhole(
  file: string,
  { header, byteLength }: Pick<SafetensorsPlan, 'header' | 'byteLength'>,
): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(header.length), 0, header.length, 0);
    return size === byteLength && bytesRead === header.length && buffer.equals(header);
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw cause;
  } finally {
    await handle?.close();
  }
}

/**
 * Writes a file of the cache, whole or not at all. Several processes may do so at once: each writes a file of its own,
 * and the last one to finish puts it in place.
 */
export async function replaceFile(file: string, write: (to: FileHandle) => Promise<void>): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const unfinished = `${file}.${randomUUID()}`;
  const handle = await open(unfinished, 'w');
  try {
    await write(handle);
    await handle.sync();
    await handle.close();
    await rename(unfinished, file);
  } catch (error) {
    await handle.close().catch(() => {}); // closed already where renaming failed
    await rm(unfinished, { force: true });
    throw error;
  }
}

export async function writeAll(to: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const left = bytes.byteLength - done;
    done += (await to.write(bytes, done, left, position + done)).bytesWritten;
  }
}
