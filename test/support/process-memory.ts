import { readFile } from 'node:fs/promises';

/** Memory of a process in bytes, as Linux accounts it. */
interface ProcessMemory {
  readonly resident: number;
  /** Pages that no other process maps: what this process costs. */
  readonly private: number;
  /** Pages of files (weights, libraries) and of shared memory that others map too. */
  readonly shared: number;
  /**
   * Each page divided by how often it is mapped: of several processes together, the memory that they take. A process
   * that maps a file several times counts its pages as often in `resident` and `shared`.
   */
  readonly proportional: number;
}

/** `null` where /proc does not tell. */
export async function processMemory(pid: number): Promise<ProcessMemory | null> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => null);
  if (text === null) return null;
  const bytes = (field: string): number =>
    1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  return {
    resident: bytes('Rss'),
    private: bytes('Private_Clean') + bytes('Private_Dirty'),
    shared: bytes('Shared_Clean') + bytes('Shared_Dirty'),
    proportional: bytes('Pss'),
  };
}

/** How many bytes of one file a process holds, and how many of them are its own copies. */
export async function mappedFile(
  pid: number,
  file: string,
): Promise<{ resident: number; private: number } | null> {
  const text = await readFile(`/proc/${pid}/smaps`, 'utf8').catch(() => null);
  if (text === null) return null;
  const total = { resident: 0, private: 0 };
  let inside = false;
  for (const line of text.split('\n')) {
    const field = /^(\w+):\s+(\d+) kB/.exec(line);
    if (!field) inside = line.endsWith(file) || (inside && line.startsWith('VmFlags'));
    else if (inside && field[1] === 'Rss') total.resident += 1024 * Number(field[2]);
    else if (inside && field[1]?.startsWith('Private_D')) total.private += 1024 * Number(field[2]);
  }
  return total;
}
