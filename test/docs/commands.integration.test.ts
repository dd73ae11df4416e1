import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readDocuments } from '../support/documents.js';
import { useScratchPackages } from '../support/scratch-package.js';
import { Terminal } from '../support/terminal.js';
import { isReadme, runDocuments } from './run-documents.js';

runDocuments(readDocuments().filter(isReadme));

const scratch = useScratchPackages();

describe('npx', () => {
  it('finds the command', async () => {
    const terminal = new Terminal(scratch(), '');
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await terminal.run('command npx flinch --version')).toContain(version);
    await terminal.close();
  });
});
