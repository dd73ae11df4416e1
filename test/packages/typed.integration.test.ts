import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startScript, useFolder } from '../support/cli.js';
import { useGateway } from '../support/gateway.js';
import { COMPILATIONS, compile, fileOf, install } from './compile.js';
import { PROJECTS } from './projects.js';

const gateway = useGateway();

describe.each(Object.entries(PROJECTS))('%s', (_name, project) => {
  const folder = useFolder().path('');
  beforeAll(() => install(folder, project));

  it('compiles without skipLibCheck', () => {
    expect(compile(folder, project, COMPILATIONS[0]!)).toEqual([]);
  });

  it.each(Object.entries(project.programs))('%s runs', async (name, { prints }) => {
    const outcome = await startScript(join(folder, `${fileOf(name)}.js`), [gateway.url]).finished;
    expect(outcome).toMatchObject({ code: 0, stdout: prints, stderr: '' });
  });
});
