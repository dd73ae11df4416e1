import { writeFileSync } from 'node:fs';

/** MiB that this process takes at most while something runs, beyond what it has before. */
export async function peakMemory(work: () => unknown): Promise<number> {
  forgetPeak();
  const before = process.resourceUsage().maxRSS;
  await work();
  return (process.resourceUsage().maxRSS - before) / 1024;
}

/** The most that it ever had. Where the system cannot forget it, only what exceeds it shows. */
function forgetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // The file exists on Linux only.
  }
}
