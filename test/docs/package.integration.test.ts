import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useFolder } from '../support/cli.js';
import { readDocuments } from '../support/documents.js';

const listing = z.tuple([z.object({ files: z.array(z.object({ path: z.string() })) })]);

const folder = useFolder();

/** What `npm publish` would send of a folder. */
function packed(cwd = '.'): string[] {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent'];
  const [{ files }] = listing.parse(JSON.parse(execFileSync('npm', args, { cwd, env, encoding: 'utf8' })));
  return files.map(({ path }) => path);
}

describe('the npm package', () => {
  it('has what its documents link to, but for the sources', () => {
    const files = packed();
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
      ([, target]) => !isThere(target) && !/^(src|gateway|bench|client)\//.test(target),
    );
    expect(missing.map((pair) => pair.join(' → '))).toEqual([]);
  });

  it('has no keys of a cluster', () => {
    for (const name of ['package.json', 'examples']) cpSync(name, folder.path(name), { recursive: true });
    folder.write('examples/kubernetes/keys.env', 'WEB_KEY=a-key-for-these-tests');
    const files = packed(folder.path(''));
    expect(files).toContain('examples/kubernetes/flinch.yaml');
    expect(files).not.toContain('examples/kubernetes/keys.env');
  });
});
