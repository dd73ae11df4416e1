import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { hashedKeys, keyHash, sha256 } from '#gateway/access/access-keys.js';
import { ConfigError } from '#gateway/config/config-error.js';
import { type ConfigInput, configSchema } from '#gateway/config/gateway-config.js';
import { upstreamModelSchema } from '#gateway/config/models-section.js';
import { credentialsOf } from '#gateway/upstream/open-upstream-model.js';
import { checkWebhooks } from '#gateway/webhooks/webhooks.js';

const folder = mkdtempSync(join(tmpdir(), 'flinch-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileOf = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
const KEY = 'a key of 16 characters';
const keysOf = (keys: NonNullable<ConfigInput['access']>['keys']) =>
  configSchema.parse({ access: { keys } }).access.keys;
const upstreamOf = (fields: object) =>
  upstreamModelSchema.parse({ upstreams: [{ url: 'http://x/v1', ...fields }] }).upstreams[0]!;

describe('a secret in a file', () => {
  it.each([KEY, `${KEY}\n`, `${KEY}\r\n`])('is the key of a client: %j', (text) => {
    const [key] = keysOf([{ name: 'web', key_file: fileOf('web', text) }]);
    expect(keyHash(key!, {})).toEqual(sha256(KEY));
  });

  it('is the key of a server, and a header', () => {
    const key_file = fileOf('server', 'server-key\n');
    const headers = { 'X-Team': { file: fileOf('team', 'red\n') }, 'X-Plain': 'blue' };
    expect(credentialsOf(upstreamOf({ key_file, headers }), {}, 'upstream')).toEqual({
      key: 'server-key',
      headers: { 'x-team': 'red', 'x-plain': 'blue' },
      secrets: ['red'],
    });
  });

  it('is the secret of a webhook', () => {
    const webhook = (text: string) => ({
      url: 'https://example.org',
      events: ['flag' as const],
      secret_file: fileOf('hook', text),
    });
    const good = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    expect(() => checkWebhooks([webhook(`${good}\n`)], {})).not.toThrow();
    expect(() => checkWebhooks([webhook('hunter2')], {})).toThrow(
      /^webhooks\[0\]\.secret_file: the file .*hook must be whsec_/,
    );
  });

  it.each([
    ['is missing', null, /the file .* cannot be read/],
    ['is empty', '\n', /the file .* is empty/],
    ['is too short', 'hunter2', /the file .* must contain at least 16 characters/],
    ['has two lines', `${KEY}\nhunter2\n`, /the file .* must contain printable ASCII only/],
  ])('is refused where it %s, by its name', (_, text, message) => {
    const key_file = text === null ? join(folder, 'none') : fileOf('bad', text);
    const [key] = keysOf([{ name: 'web', key_file }]);
    const hash = () => keyHash(key!, {});
    expect(hash).toThrow(ConfigError);
    expect(hash).toThrow(message);
    expect(hash).not.toThrow('hunter2');
  });

  it('is one of several ways, of which only one may be used', () => {
    expect(() => keysOf([{ name: 'web', env: 'A', key_file: 'b' }])).toThrow(
      'one of sha256, env and key_file',
    );
    expect(() => upstreamOf({ key_env: 'A', key_file: 'b' })).toThrow('cannot be used with key_env');
  });

  it('is told to workers by its hash alone', () => {
    const keys = keysOf([{ name: 'web', key_file: fileOf('web', KEY), metrics: true }]);
    expect(hashedKeys(keys, {})).toEqual([
      { name: 'web', metrics: true, sha256: sha256(KEY).toString('hex') },
    ]);
  });
});
