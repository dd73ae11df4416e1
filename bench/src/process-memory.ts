import { readFile, writeFile } from 'node:fs/promises';

/**
 * Growth of a process while work was done, in bytes: its highest resident memory, without what it had before.
 * @returns `null` for the bytes if the system is not Linux
 */
export async function peakGrowth<T>(
  pid: number | undefined,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly bytes: number | null }> {
  // 5 resets the highest resident memory to what it is now (proc_pid_clear_refs(5)).
  const isReset = await writeFile(`/proc/${pid}/clear_refs`, '5').then(
    () => true,
    () => false,
  );
  const before = await highestResident(pid);
  const result = await work();
  const peak = await highestResident(pid);
  return { result, bytes: isReset && before !== null && peak !== null ? peak - before : null };
}

async function highestResident(pid: number | undefined): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(text) ?? [];
  return kilobytes === undefined ? null : 1024 * Number(kilobytes);
}
