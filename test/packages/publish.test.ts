import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { manifestsOf, setVersion } from '#tools/version/set-version.js';
import { useFolder } from '../support/cli.js';

const described = z.object({
  license: z.literal('Apache-2.0'),
  description: z.string(),
  keywords: z.array(z.string()),
});

describe('the packages', () => {
  const manifests = manifestsOf('.');
  const names = manifests.map(({ name }) => name);

  it('have one version, and need each other in it', () => {
    const [root] = manifests;
    for (const { name, version, dependencies = {}, peerDependencies = {} } of manifests) {
      expect({ name, version }).toEqual({ name, version: root?.version });
      for (const [needed, range] of Object.entries({ ...dependencies, ...peerDependencies }))
        if (names.includes(needed)) expect({ name, needed, range }).toEqual({ name, needed, range: version });
    }
    expect(names.length).toBeGreaterThan(5);
  });

  it('say what they are, and have no script that runs where they are installed', () => {
    for (const { folder, scripts = {} } of manifests) {
      described.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
      const installing = ['preinstall', 'install', 'postinstall'].filter((script) => script in scripts);
      expect({ folder, installing }).toEqual({ folder, installing: [] });
    }
  });
});

describe('npm run set-version', () => {
  const folder = useFolder();

  it('sets the version everywhere, and nothing else', () => {
    for (const { folder: from } of manifestsOf('.'))
      cpSync(join(from, 'package.json'), folder.path(join(from, 'package.json')));
    const root = folder.path('');
    setVersion(root, '9.8.7');
    for (const { folder: to } of manifestsOf('.')) {
      const [before, after] = ['.', root].map((base) => readFileSync(join(base, to, 'package.json'), 'utf8'));
      expect(after?.replaceAll('9.8.7', '0.1.0')).toBe(
        before?.replaceAll(manifestsOf('.')[0]!.version, '0.1.0'),
      );
      expect(after).toContain('"version": "9.8.7"');
    }
  });
});
