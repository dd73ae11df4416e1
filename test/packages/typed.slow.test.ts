import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../support/cli.js';
import { COMPILATIONS, compile, install } from './compile.js';
import { PROJECTS } from './projects.js';

describe.each(Object.entries(PROJECTS))('%s', (_name, project) => {
  const folder = useFolder().path('');
  beforeAll(() => install(folder, project));

  it.each(COMPILATIONS.slice(1))('compiles with $compiler, $moduleResolution', (compilation) => {
    expect(compile(folder, project, compilation)).toEqual([]);
  });
});
