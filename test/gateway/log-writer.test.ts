import { closeSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LogWriter } from '#gateway/log-writer.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();

function writerTo(path: string) {
  const fd = openSync(path, 'w');
  onTestFinished(() => closeSync(fd));
  const lost = { lines: 0 };
  const writer = new LogWriter(fd, (lines) => {
    lost.lines += lines;
  });
  return { writer, lost };
}

describe('a log', () => {
  it('is written line by line, in order', async () => {
    const { writer, lost } = writerTo(folder.path('log'));
    const lines = Array.from({ length: 1000 }, (_, i) => `{"line":${i},"text":"größer"}\n`);
    for (const line of lines) writer.write(line);
    await expect.poll(() => folder.read('log')).toBe(lines.join(''));
    expect(lost.lines).toBe(0);
  });

  it('has no characters that a terminal obeys', async () => {
    const { writer } = writerTo(folder.path('hostile'));
    writer.write('{"text":"\u009b2J\u202e"}\n');
    await expect.poll(() => folder.read('hostile')).toBe('{"text":"\\u009b2J\\u202e"}\n');
  });

  it.runIf(platform() === 'linux')('loses what a full disk does not take, and says how much', async () => {
    const { writer, lost } = writerTo('/dev/full');
    for (let i = 0; i < 10; i++) writer.write(`${i}\n`);
    await expect.poll(() => lost.lines).toBe(10);
    writer.write('more\n');
    await expect.poll(() => lost.lines).toBe(11);
  });

  it('keeps no more than a bound of what is not taken in time', async () => {
    const { writer, lost } = writerTo(folder.path('many'));
    const line = `${'x'.repeat(999)}\n`;
    for (let i = 0; i < 3000; i++) writer.write(line); // within one turn nothing can be written
    expect(lost.lines).toBe(3000 - Math.floor(2 ** 20 / 1000));
    await expect.poll(() => readFileSync(folder.path('many')).length).toBe((3000 - lost.lines) * 1000);
    writer.write(line);
    await expect.poll(() => readFileSync(folder.path('many')).length).toBe((3001 - lost.lines) * 1000);
  });
});
