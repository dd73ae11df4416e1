import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { folder } from '../support/graphs.js';

/** Imports that point up, one for each room and file at the top of the gateway. */
const UP: readonly (readonly [from: string, to: string])[] = [
  ['gateway/answers/a.ts', 'gateway/models/b.ts'],
  ['gateway/answers/c.ts', 'gateway/metrics/b.ts'],
  ['gateway/models/a.ts', 'gateway/upstream/b.ts'],
  ['gateway/metrics/a.ts', 'gateway/models/b.ts'],
  ['gateway/http/a.ts', 'gateway/workers/b.ts'],
  ['gateway/websocket/a.ts', 'gateway/gateway.ts'],
  ['gateway/workers/a.ts', 'gateway/websocket/b.ts'],
  ['gateway/serving.ts', 'gateway/http/b.ts'],
  ['gateway/connection-bounds.ts', 'gateway/config/b.ts'],
  ['gateway/log-line.ts', 'gateway/config/b.ts'],
  ['gateway/log-writer.ts', 'gateway/config/b.ts'],
  ['gateway/open-log.ts', 'gateway/http/b.ts'],
  ['gateway/open-models.ts', 'gateway/http/b.ts'],
  ['gateway/start-gateway.ts', 'gateway/websocket/b.ts'],
  ['gateway/start-alone.ts', 'gateway/http/b.ts'],
];

const pathTo = (from: string, to: string): string => {
  const path = relative(dirname(from), to).replace(/ts$/, 'js');
  return path.startsWith('.') ? path : `./${path}`;
};

it('refuses each import that points up', async () => {
  const targets = UP.map(([, to]) => [to, '']);
  const importers = UP.map(([from, to]) => [from, `import '${pathTo(from, to)}';\n`]);
  const cwd = await folder(Object.fromEntries([...targets, ...importers]));
  const { stdout } = spawnSync(
    resolve('node_modules/.bin/depcruise'),
    ['--config', resolve('.dependency-cruiser.mjs'), '--output-type', 'json', 'gateway'],
    { cwd, encoding: 'utf8' },
  );
  const { violations } = JSON.parse(stdout).summary;
  const refused = violations.map(({ from, to }: { from: string; to: string }) => [from, to]);
  expect(refused.toSorted()).toEqual(UP.toSorted());
});

it.each([
  ['web/a.tsx', '../gateway/gateway.js'],
  ['web/a.tsx', '#src/engine/engine.js'],
  ['client/react/src/a.tsx', 'flinch'],
])('refuses in %s, which has JSX, the import of %s', async (file, from) => {
  const { overrides } = JSON.parse(readFileSync('biome.json', 'utf8'));
  const cwd = await folder({ 'biome.json': { overrides }, [file]: `import '${from}';\n` });
  const { status, stderr } = spawnSync(resolve('node_modules/.bin/biome'), ['lint', file], {
    cwd,
    encoding: 'utf8',
  });
  expect(stderr).toContain('noRestrictedImports');
  expect(status).toBe(1);
});
