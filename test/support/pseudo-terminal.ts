import { spawnSync } from 'node:child_process';
import { CLI_ENTRY } from '#cli/entry.js';
import { type Running, startProgram } from './cli.js';

/** Whether `script` of util-linux is there, which runs a command on a terminal of its own. */
export const HAS_TERMINAL = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

/** Starts the command on a terminal. Both of its streams are there: what they print comes as standard output. */
export function startOnTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  columns = 0, // unknown
): Running {
  const words = [process.execPath, CLI_ENTRY, ...args].map((word) => `'${word}'`);
  const command = `stty cols ${columns}; ${words.join(' ')}`;
  const plain = { TERM: 'xterm', FORCE_COLOR: undefined, NO_COLOR: undefined, CI: undefined };
  return startProgram('script', ['-qefc', command, '/dev/null'], null, { ...plain, ...env });
}
