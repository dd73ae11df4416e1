import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part, Workshop } from './peer-part.js';
import { ENVIRONMENTS, type EnvironmentName, NEWEST, OVERRIDES, PYTHON } from './versions.js';

/**
 * Runs uv with its cache in the peers' folder, on the same disk: equal packages of several environments are then
 * the same files.
 *
 * @returns its standard output
 */
export function runUv(
  workshop: Workshop,
  args: readonly string[],
  hint?: (output: string) => string | undefined,
): Promise<string> {
  return workshop.run('uv', args, {
    env: {
      UV_CACHE_DIR: process.env.UV_CACHE_DIR ?? join(workshop.root, 'uv-cache'),
      UV_PYTHON_DOWNLOADS: 'never',
      UV_NO_PROGRESS: '1',
    },
    // Stages, not the names of hundreds of packages.
    onLine: (line) => {
      if (/^(Resolved|Prepared|Installed) /.test(line)) workshop.line(line.trim());
    },
    ...(hint && { hint }),
  });
}

/** @returns the path of a Python that the environments can be made of */
async function findPython(workshop: Workshop, versions: string): Promise<string> {
  const hint = (): string =>
    `Python ${versions} is needed. Install one, for example with "uv python install 3.12" or the system's packages.`;
  return (await runUv(workshop, ['python', 'find', '--no-project', versions], hint)).trim();
}

/** Arguments of `uv pip install` that fix what is not given exactly. */
const FIXED = ['--exclude-newer', NEWEST];

/** A Python environment with the versions of versions.ts. */
export function environment(name: EnvironmentName): Part {
  const { packages, modules, python: versions = PYTHON } = ENVIRONMENTS[name];
  const requirements = packages.join('\n');
  return {
    path: `environments/${name}`,
    version: () => [NEWEST, requirements, ...OVERRIDES].join('\n'),
    make: async (target, workshop) => {
      // Relocatable: it is moved to its place when it is whole.
      const python = await findPython(workshop, versions);
      await runUv(workshop, ['venv', '--no-project', '--relocatable', '--python', python, target]);
      const [required, overrides] = [join(target, 'requirements.txt'), join(target, 'overrides.txt')];
      writeFileSync(required, `${requirements}\n`);
      writeFileSync(overrides, `${OVERRIDES.join('\n')}\n`);
      await runUv(workshop, [
        ...['pip', 'install', '--python', join(target, 'bin/python'), ...FIXED],
        ...['--requirements', required, '--overrides', overrides],
      ]);
      await workshop.run(join(target, 'bin/python'), ['-c', `import ${modules.join(', ')}`]);
    },
  };
}

/** Runs the Python of an environment. */
export async function python(
  name: EnvironmentName,
  args: readonly string[],
  workshop: Workshop,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const command = join(workshop.root, 'environments', name, 'bin/python');
  await workshop.run(command, args, { env: { PYTHONDONTWRITEBYTECODE: '1', ...env } });
}

/** Unpacks packages into a folder without what they ask for, and without running anything of them. */
export async function unpack(packages: readonly string[], folder: string, workshop: Workshop): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const own = await findPython(workshop, PYTHON);
  const how = ['--no-deps', '--no-build', '--python', own, '--target', folder];
  await runUv(workshop, ['pip', 'install', ...how, ...FIXED, ...packages]);
}
