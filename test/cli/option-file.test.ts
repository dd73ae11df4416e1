import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { optionFile, writableFolder } from '#cli/option-file.js';
import { UsageError } from '#src/files/errors.js';

describe('a file that an option names', () => {
  it('is named with its option if it cannot be opened', async () => {
    const missing = join(tmpdir(), 'flinch-nowhere', 'file');
    const opened = optionFile('--input', missing, readFile(missing));
    await expect(opened).rejects.toThrow(new UsageError(`--input: ${missing} does not exist`));
    await expect(optionFile('--input', tmpdir(), readFile(tmpdir()))).rejects.toThrow('is a folder');
    await expect(writableFolder('--output', missing)).rejects.toThrow(/^--output: .*flinch-nowhere does not/);
  });

  it('passes on other errors, and what was opened', async () => {
    const other = new Error('other');
    await expect(optionFile('--input', 'x', Promise.reject(other))).rejects.toBe(other);
    expect(await optionFile('--input', 'x', Promise.resolve(1))).toBe(1);
  });
});
