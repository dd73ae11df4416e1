import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Processor time of a test file and of the processes that it started. */
    cpuSeconds?: number;
  }
}

/** Clock ticks of a second in /proc. */
const TICKS = 100;

/** Processor time of a process and all that it started, which have ended or run. */
function cpuSeconds(pid: number): number {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    // utime, stime, cutime, cstime (proc_pid_stat(5))
    const own =
      fields
        .split(' ')
        .slice(11, 15)
        .reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return own + children.split(' ').reduce((sum, child) => sum + (child ? cpuSeconds(Number(child)) : 0), 0);
  } catch {
    // It has just ended, or this is not Linux.
    return 0;
  }
}

const before = cpuSeconds(process.pid);
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from it.
afterAll(({}, suite) => {
  suite.file.meta.cpuSeconds = cpuSeconds(process.pid) - before;
});
