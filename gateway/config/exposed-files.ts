import { stat } from 'node:fs/promises';
import { secretsIn } from './content.js';
import type { Config } from './gateway-config.js';
import { variableOf } from './variables.js';

export interface ExposedFile {
  readonly file: string;
  /** Permissions, such as `644`. */
  readonly mode: string;
}

export interface FilesOptions {
  /** File of the configuration, if there is one. */
  readonly file?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Files with secrets that more users of this machine may read than need to: of files of this user all but the owner, of
 * others, such as mounted secrets that it reads as a member of their group, users outside that group.
 * @returns none on Windows, which has no such permissions; files that are missing are left out
 */
export async function exposedFiles(config: Config, { file, env }: FilesOptions): Promise<ExposedFile[]> {
  const user = process.getuid?.();
  if (user === undefined) return [];
  const { inside, files } = secretsIn(config);
  const fromFile = inside.some(({ path }) => !path.some((_, i) => env[variableOf(path.slice(0, i + 1))]));
  const own = file !== undefined && fromFile ? [file] : [];
  const exposed = [...new Set([...own, ...files.map(({ text }) => text)])].map(async (each) => {
    const found = await stat(each).catch(() => null);
    const others = found?.uid === user ? 0o077 : 0o007;
    return found && (found.mode & others) !== 0
      ? { file: each, mode: (found.mode & 0o777).toString(8).padStart(3, '0') }
      : null;
  });
  return (await Promise.all(exposed)).filter((each) => each !== null);
}
