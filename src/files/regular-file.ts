import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

/** Time that a file may take: one on a file system that has gone would be waited for without end. */
const READ_MS = 10_000;

/** A pipe would be waited for even while it is opened. Windows has no such flag. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads that are not over: nothing can interrupt them, so none of the same file is begun beside them. */
const pending = new Set<string>();

/** Whether there are any: the process ends only if it is killed. */
export const readsPending = (): boolean => pending.size > 0;

/**
 * Reads a small text file.
 * @param bytes most that it may have
 * @throws the error of the system; Error for a file that is none, such as a pipe, is too large, or takes more than 10 s
 */
export async function readRegularFile(file: string, bytes: number, ms = READ_MS): Promise<string> {
  const problem = `is not read within ${ms / 1000} s; its file system may be away`;
  if (pending.has(file)) throw new Error(problem);
  pending.add(file);
  const reading = readWithin(file, bytes).finally(() => pending.delete(file));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(problem)), ms);
  });
  return Promise.race([reading, late]).finally(() => clearTimeout(timer));
}

async function readWithin(file: string, bytes: number): Promise<string> {
  const handle = await open(file, FLAGS);
  try {
    checkRegular(await handle.stat(), bytes);
    // It may have grown.
    const read = await buffer(handle.createReadStream({ end: bytes, autoClose: false }));
    checkSize(read.length, bytes);
    return read.toString();
  } finally {
    await handle.close();
  }
}

/** The same for callers that cannot wait; they are kept waiting by a file system that has gone. */
export function readRegularFileSync(file: string, bytes: number): string {
  const descriptor = openSync(file, FLAGS);
  try {
    checkRegular(fstatSync(descriptor), bytes);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

function checkRegular(found: Stats, bytes: number): void {
  if (found.isDirectory()) throw new Error('is a folder');
  if (!found.isFile()) throw new Error('is not a regular file');
  checkSize(found.size, bytes);
}

function checkSize(size: number, bytes: number): void {
  if (size > bytes) throw new Error(`has more than ${bytes} bytes`);
}
