import { describe, expect, it } from 'vitest';
import { keyHash, keyHashes, sha256 } from '#gateway/access/keys.js';
import { configSchema } from '#gateway/config/config.js';

const key = 'a key of 16 characters';
const { keys } = configSchema.parse({ access: { keys: [{ name: 'web', env: 'WEB_KEY' }] } }).access;
const config = keys[0]!;

describe('the variable of a key', () => {
  it('holds what clients send', () => {
    expect(keyHash(config, { WEB_KEY: key })).toEqual(sha256(key));
  });

  it.each([`${key}\n`, ` ${key}`, `${key}\r\n`, `${key}é`, `${key}\0`])(
    'must not be %j, which nobody can send',
    (value) => {
      expect(() => keyHash(config, { WEB_KEY: value })).toThrow(
        'access.keys: web: the variable WEB_KEY must contain printable ASCII only, without white space or a newline at its ends',
      );
    },
  );
});

it('does not belong to two names, whose policies may differ', () => {
  const keys = [
    { name: 'web', env: 'WEB', metrics: false },
    { name: 'app', env: 'APP', metrics: false },
  ];
  const key = 'a-key-of-enough-characters';
  expect(() => keyHashes(keys, { WEB: key, APP: key })).toThrow('access.keys: app: has the same key as web');
  expect(keyHashes(keys, { WEB: key, APP: `${key}-2` })).toHaveLength(2);
});
