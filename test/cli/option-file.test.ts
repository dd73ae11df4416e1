import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { optionFile, writableFolder } from '#cli/option-file.js';
import { UsageError } from '#src/files/file-errors.js';

describe('a file that an option names', () => {
  it('is named with its option if it cannot be opened', async () => {
    const missing = join(tmpdir(), 'flinch-nowhere', 'file');
    const opened = optionFile('--input', missing, readFile(missing));
    await expect(opened).rejects.toThrow(new UsageError(`--input: ${missing}: no such file or folder`));
    await expect(optionFile('--input', tmpdir(), readFile(tmpdir()))).rejects.toThrow('a folder, not a file');
    await expect(writableFolder('--output', missing)).rejects.toThrow(
      /^--output: .*flinch-nowhere: no such file/,
    );
  });

  it('passes on other errors, and what was opened', async () => {
    const other = new Error('other');
    await expect(optionFile('--input', 'x', Promise.reject(other))).rejects.toBe(other);
    expect(await optionFile('--input', 'x', Promise.resolve(1))).toBe(1);
  });
});
