import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyConfig } from '../config/access-section.js';
import { ConfigError } from '../config/config-error.js';
import { readHeaderSecret } from '../config/secret.js';

/** Shorter ones can be guessed. */
const MIN_KEY_CHARACTERS = 16;

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Static API keys. Only their hashes are kept. */
export class Keys<T> {
  readonly #entries: readonly { readonly hash: Buffer; readonly owner: T }[];

  constructor(entries: Iterable<readonly [hash: Buffer, owner: T]>) {
    this.#entries = [...entries].map(([hash, owner]) => ({ hash, owner }));
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Owner of a key. Takes equally long for each key, and for none: all are compared, hash with hash. */
  find(key: string): T | null {
    const hash = sha256(key);
    let found: T | null = null;
    for (const entry of this.#entries) if (timingSafeEqual(entry.hash, hash)) found = entry.owner;
    return found;
  }
}

/**
 * The hash of a configured key.
 * @throws ConfigError when its variable is not set or its file cannot be read, or either holds something too short
 */
export function keyHash(
  { name, sha256: hash, env: variable, key_file: file }: KeyConfig,
  env: NodeJS.ProcessEnv,
): Buffer {
  if (hash !== undefined) return Buffer.from(hash, 'hex');
  const location = `access.keys: ${name}`;
  const { text: key, source } = readHeaderSecret({ env: variable, file }, env, location);
  if (key.length >= MIN_KEY_CHARACTERS) return sha256(key);
  throw new ConfigError(location, `${source} must contain at least ${MIN_KEY_CHARACTERS} characters`);
}

/**
 * The hashes of all configured keys.
 * @throws ConfigError as above, and where two names have the same key: policies and limits go by the name
 */
export function keyHashes(keys: readonly KeyConfig[], env: NodeJS.ProcessEnv): Buffer[] {
  const names = new Map<string, string>();
  return keys.map((key) => {
    const hash = keyHash(key, env);
    const id = hash.toString('hex');
    const first = names.get(id);
    if (first !== undefined)
      throw new ConfigError(`access.keys: ${key.name}`, `has the same key as ${first}`);
    names.set(id, key.name);
    return hash;
  });
}

/**
 * The same keys, with their hashes in place of variables and files: so all processes of a gateway have the same ones,
 * even while a file changes.
 * @throws ConfigError as above
 */
export const hashedKeys = (keys: readonly KeyConfig[], env: NodeJS.ProcessEnv): KeyConfig[] =>
  keyHashes(keys, env).map((hash, i) => {
    const { env: _, key_file, ...rest } = keys[i]!;
    return { ...rest, sha256: hash.toString('hex') };
  });
