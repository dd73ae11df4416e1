import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyConfig } from '../config/config.js';
import { ConfigError } from '../config/config-error.js';
import { isHeaderValue, notSent } from '../config/header-value.js';

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
 * @throws ConfigError when its variable is not set, or holds something too short
 */
export function keyHash({ name, sha256: hash, env: variable }: KeyConfig, env: NodeJS.ProcessEnv): Buffer {
  if (hash !== undefined) return Buffer.from(hash, 'hex');
  const key = variable === undefined ? undefined : env[variable];
  if (!key) throw new ConfigError(`access.keys: ${name}`, `the variable ${variable} is not set`);
  if (key.length < MIN_KEY_CHARACTERS) {
    throw new ConfigError(
      `access.keys: ${name}`,
      `the variable ${variable} must contain at least ${MIN_KEY_CHARACTERS} characters`,
    );
  }
  if (!isHeaderValue(key)) throw new ConfigError(`access.keys: ${name}`, notSent(variable));
  return sha256(key);
}
