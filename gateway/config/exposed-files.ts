import { stat } from 'node:fs/promises';
import type { Config } from './config.js';

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

/** Names of headers that carry credentials. */
const CREDENTIAL = /authorization|cookie|key|token|secret|password/i;

/**
 * Files with secrets that more users of this machine may read than need to: of files of this user all but the owner, of
 * others, such as mounted secrets that it reads as a member of their group, users outside that group.
 * @returns none on Windows, which has no such permissions; files that are missing are left out
 */
export async function exposedFiles(config: Config, { file, env }: FilesOptions): Promise<ExposedFile[]> {
  const user = process.getuid?.();
  if (user === undefined) return [];
  const own = file !== undefined && holdsSecrets(config, env) ? [file] : [];
  const exposed = [...new Set([...own, ...secretFiles(config)])].map(async (each) => {
    const found = await stat(each).catch(() => null);
    const others = found?.uid === user ? 0o077 : 0o007;
    return found && (found.mode & others) !== 0
      ? { file: each, mode: (found.mode & 0o777).toString(8).padStart(3, '0') }
      : null;
  });
  return (await Promise.all(exposed)).filter((each) => each !== null);
}

/** Files that the configuration names for secrets. */
function secretFiles({ access, models = {}, webhooks }: Config): string[] {
  const upstreams = Object.values(models).flatMap((model) => ('upstreams' in model ? model.upstreams : []));
  const headers = upstreams.flatMap((upstream) => Object.values(upstream.headers));
  return [
    ...[...access.keys, ...upstreams].map(({ key_file }) => key_file),
    ...headers.map((value) => (typeof value === 'object' && 'file' in value ? value.file : undefined)),
    ...webhooks.map(({ secret_file }) => secret_file),
  ].filter((each) => each !== undefined);
}

/** Whether the file itself says what should not be known: a password of Redis, a header with credentials. */
function holdsSecrets({ state, models = {} }: Config, env: NodeJS.ProcessEnv): boolean {
  const password = state !== undefined && !env.FLINCH_STATE_URL && new URL(state.url).password !== '';
  const headers = Object.values(models).flatMap((model) =>
    'upstreams' in model ? model.upstreams.flatMap((upstream) => Object.entries(upstream.headers)) : [],
  );
  const plain = headers.some(([name, value]) => typeof value === 'string' && CREDENTIAL.test(name));
  return password || (plain && !env.FLINCH_MODELS);
}
