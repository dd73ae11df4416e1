import { reportError } from '#cli/exit-errors.js';
import { labProgram } from './lab-program.js';

const words = process.argv.slice(2);
try {
  const program = await labProgram(words[0]);
  await program.parseAsync(words.length > 0 ? words : ['--help'], { from: 'user' });
} catch (error) {
  reportError(error);
  process.exitCode ??= 1; // unless the program has its own
}
