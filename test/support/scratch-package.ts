import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll } from 'vitest';
import { shellWord } from '#cli/shell-word.js';

/** Folders as a user has them, with the package installed; all are removed at the end of the test file. */
export function useScratchPackages() {
  const base = mkdtempSync(join(tmpdir(), 'flinch-docs-'));
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  linkModules(join(base, 'node_modules'));
  let made = 0;
  /** A folder that looks like the repository. Files that commands write into the model's folder stay here. */
  return (): string => {
    const folder = join(base, `${made++}`);
    mkdirSync(folder);
    // Only folders are linked: a command that writes to a file would write through the link.
    const folders = readdirSync('.', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name } of folders) {
      if (!['node_modules', 'models'].includes(name) && !name.startsWith('.')) {
        symlinkSync(resolve(name), join(folder, name));
      }
    }
    cpSync('models', join(folder, 'models'), { recursive: true });
    // Name and bin are left out: npx would install a package of its own first, in its cache.
    const { type, scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type, scripts }));
    return folder;
  };
}

/** Links the packages that are installed here, and flinch itself. */
function linkModules(folder: string): void {
  mkdirSync(join(folder, '.bin'), { recursive: true });
  for (const name of readdirSync('node_modules')) {
    if (!name.startsWith('.') && name !== 'flinch')
      symlinkSync(resolve('node_modules', name), join(folder, name));
  }
  for (const name of readdirSync('node_modules/.bin')) {
    // Its own is written below: through a link, it would replace the build.
    if (name !== 'flinch') symlinkSync(resolve('node_modules/.bin', name), join(folder, '.bin', name));
  }
  symlinkSync(resolve('.'), join(folder, 'flinch'));
  const bin = join(folder, '.bin', 'flinch');
  // npm would install a link to the file, but that of this build may not be executable yet.
  writeFileSync(bin, `#!/bin/sh\nexec node ${shellWord(resolve('dist/cli/main.js'))} "$@"\n`, {
    mode: 0o755,
  });
}
