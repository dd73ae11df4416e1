#!/usr/bin/env node
import { reportError } from '../../src/cli/report.js';
import { gatewayBenchProgram } from './program.js';

try {
  await gatewayBenchProgram().parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode = 1;
}
