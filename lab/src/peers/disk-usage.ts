import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes that a file or folder takes on the disk; a file with several names counts once. */
export async function diskUsage(path: string, seen = new Set<string>()): Promise<number> {
  const { dev, ino, blocks, nlink } = await lstat(path);
  const id = `${dev}:${ino}`;
  if (nlink > 1 && seen.has(id)) return 0;
  seen.add(id);
  let bytes = 512 * blocks;
  for (const entry of await list(path)) bytes += await diskUsage(join(path, entry), seen);
  return bytes;
}

async function list(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return [];
    throw error;
  }
}
