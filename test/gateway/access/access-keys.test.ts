import { describe, expect, it, vi } from 'vitest';
import { keyHash, keyHashes } from '#gateway/access/access-keys.js';
import { configSchema } from '#gateway/config/gateway-config.js';

const key = 'a key of 16 characters';
const { keys } = configSchema.parse({ access: { keys: [{ name: 'web', env: 'WEB_KEY' }] } }).access;
const config = keys[0]!;

describe('the variable of a key', () => {
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

it('is compared once, however many there are', () => {
  const compared = vi.spyOn(Buffer.prototype, 'equals');
  const keys = Array.from({ length: 1000 }, (_, i) => ({ name: `k${i}`, env: `K${i}`, metrics: false }));
  expect(
    keyHashes(keys, Object.fromEntries(keys.map(({ env }) => [env, `${env} of enough characters`]))),
  ).toHaveLength(1000);
  expect(compared.mock.calls.length).toBeLessThanOrEqual(1000);
  compared.mockRestore();
});
