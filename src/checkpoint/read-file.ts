import { type FileHandle, open } from 'node:fs/promises';
import { ModelError, unreadable } from '../files/file-errors.js';

/** @throws ModelError for a file that cannot be opened */
export const openFile = (file: string): Promise<FileHandle> =>
  open(file).catch((cause: unknown) => {
    throw unreadable(file, cause);
  });

/** @throws ModelError for a file that cannot be read; what the work throws, if that is one */
export async function withFile<T>(file: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await openFile(file);
  try {
    return await work(handle);
  } catch (cause) {
    throw unreadable(file, cause);
  } finally {
    await handle.close();
  }
}

/** Up to `length` bytes; fewer where the file ends. */
export async function readAt(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** The place of a tensor, and its name for messages. */
interface TensorPlace {
  readonly file: string;
  readonly name: string;
  readonly offset: number;
  readonly byteLength: number;
}

/** @throws ModelError if the file ends too early */
export async function readTensor(
  handle: FileHandle,
  { file, name, offset, byteLength }: TensorPlace,
): Promise<Uint8Array> {
  const bytes = await readAt(handle, offset, byteLength);
  if (bytes.length < byteLength) throw new ModelError(file, name, 'ends before its last element');
  return bytes;
}
