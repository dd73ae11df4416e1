import { cpSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { readDocuments } from '../support/documents.js';
import { packedFiles } from '../support/installed-packages.js';

const folder = useFolder();

describe('the npm package', () => {
  it('has what its documents link to, but for sources and tests', () => {
    const files = packedFiles();
    const isThere = (target: string): boolean =>
      files.some((file) => file === target || file.startsWith(`${target.replace(/\/$/, '')}/`));
    const links = readDocuments()
      .filter(({ file }) => files.includes(file))
      .flatMap(({ file, links }) =>
        links
          .filter((link) => !/^([a-z]+:|#)/.test(link))
          .map((link) => [file, normalize(join(dirname(file), link.split('#')[0] ?? ''))] as const),
      );
    expect(links.length).toBeGreaterThan(50);
    const missing = links.filter(
      ([, target]) =>
        !isThere(target) && !/^(src|gateway|cli|tools|redis|bench|lab|client|test)\//.test(target),
    );
    expect(missing.map((pair) => pair.join(' → '))).toEqual([]);
  });

  it('has no keys of a cluster', () => {
    for (const name of ['package.json', 'deploy']) cpSync(name, folder.path(name), { recursive: true });
    folder.write('deploy/kubernetes/keys.env', 'WEB_KEY=a-key-for-these-tests');
    const files = packedFiles(folder.path(''));
    expect(files).toContain('deploy/kubernetes/flinch.yaml');
    expect(files).not.toContain('deploy/kubernetes/keys.env');
  });
});
