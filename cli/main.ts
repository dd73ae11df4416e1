#!/usr/bin/env node
import { CommanderError } from 'commander';
import { readsPending } from '../src/files/regular-file.js';
import { packageVersion } from '../src/package-root.js';
import { flinchProgram } from './program.js';
import { remark } from './terminal.js';

// A reader that has seen enough, as `| head` does, is no error.
process.stdout.on('error', async (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  await report(error);
  process.exit(1);
});

try {
  await (await flinchProgram(packageVersion(), process.argv.slice(2))).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else {
    await report(error);
    process.exitCode ??= 1; // unless the command has its own
    if (readsPending()) process.kill(process.pid, 'SIGKILL');
  }
}

/** Loaded when it is needed: it knows the errors of the engine and of the gateway. */
async function report(error: unknown): Promise<void> {
  if (error instanceof Error && 'code' in error && error.code === 'EMFILE') {
    remark(`${error.message}; raise the limit of open files (ulimit -n)`);
    return;
  }
  const { reportError } = await import('./exit-errors.js');
  reportError(error);
}
