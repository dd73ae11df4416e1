import { stat } from 'node:fs/promises';

/** Bytes of a file; `null` where there is nothing, or nothing that can be looked at. */
export async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch {
    return null;
  }
}
