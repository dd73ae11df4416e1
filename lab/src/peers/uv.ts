import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Part, Workshop } from './part.js';
import { NEWEST, PYTHON, UV } from './versions.js';

const noPython = (versions: string): string =>
  `Python ${versions} is needed. Install one, for example with "uv python install 3.12" or the system's packages.`;

/** uv in an environment of its own, where none is on the PATH. */
const ownUv: Part = {
  path: 'uv',
  version: () => UV,
  make: async (target, workshop) => {
    const hint = (): string =>
      'Install uv (docs.astral.sh/uv), or Python 3.11 to 3.13 with the modules venv and pip.';
    await workshop.run('python3', ['-m', 'venv', target], { hint });
    await workshop.run(join(target, 'bin/python'), ['-m', 'pip', 'install', UV], { hint });
  },
};

/** Needed by what {@link runUv} makes. */
export const uvParts = (): Part[] => (uvOnPath() ? [] : [ownUv]);

let onPath: boolean | undefined;

function uvOnPath(): boolean {
  onPath ??= spawnSync('uv', ['--version']).status === 0;
  return onPath;
}

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
  const command = uvOnPath() ? 'uv' : join(workshop.root, 'uv/bin/uv');
  return workshop.run(command, args, {
    env: {
      UV_CACHE_DIR: process.env.UV_CACHE_DIR ?? join(workshop.root, 'uv-cache'),
      UV_PYTHON_DOWNLOADS: 'never',
      UV_NO_PROGRESS: '1',
    },
    onLine: (line) => {
      if (isNews(line)) workshop.view.line(line.trim());
    },
    ...(hint && { hint }),
  });
}

/** Stages, and downloads of more than 20 MiB: not the names of hundreds of packages. */
function isNews(line: string): boolean {
  const [, size, unit] = /^Downloading .* \(([\d.]+)(MiB|GiB)\)$/.exec(line) ?? [];
  return unit === 'GiB' || Number(size) > 20 || /^(Resolved|Prepared|Installed) /.test(line);
}

/** @returns the path of a Python that the environments can be made of */
export async function findPython(workshop: Workshop, versions: string = PYTHON): Promise<string> {
  return (
    await runUv(workshop, ['python', 'find', '--no-project', versions], () => noPython(versions))
  ).trim();
}

/** Arguments of `uv pip install` that fix what is not given exactly. */
export const FIXED = ['--exclude-newer', NEWEST];
