import { readdir, readFile } from 'node:fs/promises';

/** A process and all that it has started, directly or not, as far as /proc tells. */
export async function processTree(root: number): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = new Map(await Promise.all(pids.map(async (pid) => [pid, await parentOf(pid)] as const)));
  const tree = [root];
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  return tree;
}

async function parentOf(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null); // it may have ended
  // After the name, which may hold anything: state, parent (proc_pid_stat(5)).
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/**
 * Memory of processes together, in bytes: each page divided by how often it is mapped (Pss), so that weights and libraries
 * count once. `null` where /proc does not tell.
 */
export async function memoryOf(pids: readonly number[]): Promise<number | null> {
  const read = (pid: number): Promise<string> =>
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  const texts = await Promise.all(pids.map(read));
  const kilobytes = texts.map((text) => Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? Number.NaN));
  const sum = kilobytes.reduce((a, b) => a + b, 0);
  return Number.isNaN(sum) ? null : 1024 * sum;
}
