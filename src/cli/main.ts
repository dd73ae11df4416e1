#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { flinchProgram } from './program.js';
import { reportError } from './report.js';

// A reader that has seen enough, as `| head` does, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  reportError(error);
  process.exit(1);
});

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

try {
  await flinchProgram(String(version)).parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode ??= 1; // unless the command has its own
}
