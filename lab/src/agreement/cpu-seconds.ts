import { readdirSync, readFileSync } from 'node:fs';

/** Duration of a clock tick: Linux has the same on all machines that Node runs on. */
const TICK_SECONDS = 0.01;

/**
 * Seconds of processor time of this process and its children, so that what else runs on the machine does not count.
 * Linux only.
 */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => statOf(pid))
    .filter((stat) => stat?.parent === process.pid);
  return children.reduce((sum, stat) => sum + (stat?.seconds ?? 0), (user + system) / 1e6);
}

/** proc_pid_stat(5): the fields behind the name, which may hold spaces. `null` for a process that has ended. */
function statOf(pid: string): { readonly parent: number; readonly seconds: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    return { parent, seconds: ((fields[11] ?? 0) + (fields[12] ?? 0)) * TICK_SECONDS };
  } catch {
    return null;
  }
}
