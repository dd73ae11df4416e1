import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/**
 * Distinguishes a process from a later one with the same number: the boot of the machine and the process's
 * start since then (field 22 of proc_pid_stat(5), in ticks); on systems without /proc the date of its start,
 * as `ps` prints it.
 *
 * @returns `null` if there is no such process, or if it has ended and its parent has not waited for it
 */
export function startOf(pid: number): string | null {
  if (!existsSync('/proc/self/stat')) {
    const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
    return stdout?.trim() || null;
  }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the name in brackets, may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : `${boot} ${fields[19]}`;
  } catch (error) {
    // ESRCH: it ended between opening and reading the file.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return null;
    throw error;
  }
}
