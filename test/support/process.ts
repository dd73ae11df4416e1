/** Kills an engine process, as running out of memory would. A process that is just being started has no id yet. */
export function kill(pid: number | undefined): void {
  // Never a group, never "all": process.kill means those by 0 and by negative numbers.
  if (pid !== undefined && pid > 1) process.kill(pid, 'SIGKILL');
}
