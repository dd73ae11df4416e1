import { execFile } from 'node:child_process';
import { platform } from 'node:os';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { SOURCES, useFolder } from '../support/cli.js';

const WRITER = new URL('../../gateway/log-writer.ts', import.meta.url).href;
const folder = useFolder();

/** Writes 40 lines to a file that takes a kilobyte, makes room, and writes one more; prints how many were lost. */
const SCRIPT = `
import { ftruncateSync, openSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { LogWriter } from '${WRITER}';
const fd = openSync('${folder.path('log')}', 'a');
let lost = 0;
const log = new LogWriter(fd, (lines) => { lost += lines; });
for (let i = 0; i < 40; i++) log.write(JSON.stringify({ i, text: 'y'.repeat(50) }) + '\\n');
while (lost === 0) await setTimeout(10);
console.log(lost);
ftruncateSync(fd, 300);
log.write('{"again":true}\\n');
`;

it.runIf(platform() === 'linux')('a log goes on on a line of its own once its disk has room', async () => {
  const script = folder.write('script.mts', SCRIPT);
  const line = `ulimit -f 1; exec "${process.execPath}" "${script}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env: { ...process.env, ...SOURCES } });
  const lines = folder.read('log').trimEnd().split('\n');
  expect(lines.at(-1)).toBe('{"again":true}');
  expect(JSON.parse(lines[0]!)).toMatchObject({ i: 0 });
  // Of 68 bytes, and of 69 from the eleventh on: 1024 hold 14.
  expect(Number(stdout)).toBe(26);
});
