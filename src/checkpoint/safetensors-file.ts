import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../files/json.js';
import type { SafetensorsPlan } from './safetensors-plan.js';

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
