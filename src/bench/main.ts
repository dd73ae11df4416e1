#!/usr/bin/env node
import { reportError } from '../cli/report.js';
import { benchProgram } from './program.js';

try {
  await benchProgram().parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode = 1;
}
