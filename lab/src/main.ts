import { reportError } from '#cli/errors.js';
import { labProgram } from './lab-program.js';

try {
  await (await labProgram(process.argv[2])).parseAsync();
} catch (error) {
  reportError(error);
  process.exitCode ??= 1; // unless the program has its own
}
