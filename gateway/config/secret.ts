import { reasonOf } from '../../src/files/file-errors.js';
import { fieldName } from '../../src/files/json.js';
import { readRegularFile, readRegularFileSync } from '../../src/files/regular-file.js';
import { ConfigError } from './config-error.js';
import { secretsIn } from './content.js';
import { isHeaderValue } from './header-value.js';

const MAX_BYTES = 1 << 20;

/** Where a secret is: in an environment variable or in a file, never in the configuration itself. */
export interface SecretSource {
  readonly env?: string | undefined;
  readonly file?: string | undefined;
}

export interface Secret {
  readonly text: string;
  /** `the variable WEB_KEY`, `the file /run/secrets/web`: for messages, which never contain the text. */
  readonly source: string;
}

/**
 * Reads a secret. The line break with which editors end a file is no part of it.
 * @param place of the source in the configuration, for errors
 * @throws ConfigError for a variable that is not set, and a file that cannot be read or is empty
 */
export function readSecret(
  { env: variable, file }: SecretSource,
  env: Readonly<Record<string, string | undefined>>,
  location: string,
): Secret {
  if (file === undefined) {
    const text = variable === undefined ? undefined : env[variable];
    if (!text) throw new ConfigError(location, `the variable ${variable} is not set`);
    return { text, source: `the variable ${variable}` };
  }
  const text = secretFile(file, location).replace(/\r?\n$/, '');
  if (text === '') throw new ConfigError(location, `the file ${file} is empty`);
  return { text, source: `the file ${file}` };
}

/**
 * The same of a secret that is sent in a header.
 * @throws ConfigError also for one that no header can have
 */
export function readHeaderSecret(...[from, env, location]: Parameters<typeof readSecret>): Secret {
  const secret = readSecret(from, env, location);
  if (isHeaderValue(secret.text)) return secret;
  const problem = 'must contain printable ASCII only, without white space or a newline at its ends';
  throw new ConfigError(location, `${secret.source} ${problem}`);
}

function secretFile(file: string, location: string): string {
  try {
    return readRegularFileSync(file, MAX_BYTES);
  } catch (error) {
    throw unreadable(file, location, error);
  }
}

/**
 * Reads all files with secrets that a configuration names, one after the other, before anything else does: what reads
 * them then does not wait.
 * @throws ConfigError for one that cannot be read, or not in time
 */
export async function checkSecretFiles(config: object): Promise<void> {
  for (const { text: file, path } of secretsIn(config).files)
    await readRegularFile(file, MAX_BYTES).catch((error: unknown) => {
      throw unreadable(file, fieldName(path), error);
    });
}

const unreadable = (file: string, location: string, error: unknown): ConfigError =>
  new ConfigError(location, `the file ${file} cannot be read (${reasonOf(error)})`);
