/** Kills an engine process, as running out of memory would. A process that is just being started has no id yet. */
export function kill(pid: number | undefined): void {
  // Never a group, never "all": process.kill means those by 0 and by negative numbers.
  if (pid !== undefined && pid > 1) process.kill(pid, 'SIGKILL');
}

export function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Stops a process, as a debugger or a system that swaps would, and has it go on. */
export function freeze(pid: number | undefined, signal: 'SIGSTOP' | 'SIGCONT' = 'SIGSTOP'): void {
  if (pid !== undefined && pid > 1) process.kill(pid, signal);
}
