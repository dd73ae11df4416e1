import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manifestsOf } from '#tools/version/set-version.js';
import { useFolder } from '../support/cli.js';

const folder = useFolder();

describe('what npm publishes', () => {
  // A `bin` that npm does not like, for example, is removed with a mere warning.
  it.each(manifestsOf('.').map(({ name, folder: from }) => [name, from]))('%s as it is', (_name, from) => {
    const manifest = folder.path('package.json');
    cpSync(join(from, 'package.json'), manifest);
    const options = { cwd: folder.path(''), env: { ...process.env, NODE_OPTIONS: '' } };
    execFileSync('npm', ['pkg', 'fix'], options);
    expect(JSON.parse(readFileSync(manifest, 'utf8'))).toEqual(
      JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')),
    );
  });
});
