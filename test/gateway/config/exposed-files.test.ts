import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { exposedFiles } from '#gateway/config/exposed-files.js';
import { type ConfigInput, configSchema } from '#gateway/config/gateway-config.js';

const folder = mkdtempSync(join(tmpdir(), 'flinch-exposed-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(name: string, mode: number): string {
  const file = join(folder, name);
  writeFileSync(file, '');
  chmodSync(file, mode);
  return file;
}

const exposed = (config: ConfigInput, file?: string, env: NodeJS.ProcessEnv = {}) =>
  exposedFiles(configSchema.parse(config), { file, env });

describe.skipIf(process.getuid === undefined)('files with secrets that others may read', () => {
  it('are those of keys, headers and webhooks', async () => {
    const [key, server, header, hook] = ['key', 'server', 'header', 'hook'].map((name) =>
      fileOf(name, 0o640),
    );
    const config: ConfigInput = {
      access: { keys: [{ name: 'web', key_file: key! }] },
      models: {
        m: { upstreams: [{ url: 'http://x/v1', key_file: server, headers: { 'X-Key': { file: header! } } }] },
      },
      webhooks: [{ url: 'http://x', secret_file: hook }],
    };
    const files = [server, header, key, hook];
    expect(await exposed(config)).toEqual(files.map((file) => ({ file, mode: '640' })));
    for (const file of [key, server, header, hook]) chmodSync(file!, 0o600);
    expect(await exposed(config)).toEqual([]);
  });

  it('are the configuration, if it contains any', async () => {
    const file = fileOf('flinch.yaml', 0o644);
    const state: ConfigInput = { state: { url: 'redis://:hunter2@localhost' } };
    const headers = (name: string): ConfigInput => ({
      models: { m: { upstreams: [{ url: 'http://x/v1', headers: { [name]: 'x' } }] } },
    });
    const upstream = (url: string): ConfigInput => ({ models: { m: { upstreams: [{ url }] } } });
    const hook = (url: string): ConfigInput => ({ webhooks: [{ url, secret_env: 'HOOK' }] });
    const named = [state, headers('Authorization'), headers('X-Any'), upstream('http://x/v1?token=hunter2')];
    for (const config of [...named, hook('http://x/services/hunter2')])
      expect(await exposed(config, file)).toEqual([{ file, mode: '644' }]);
    const none: ConfigInput[] = [
      {},
      { state: { url: 'redis://localhost' } },
      upstream('http://x/v1'),
      hook('http://x'),
    ];
    for (const config of none) expect(await exposed(config, file)).toEqual([]);
    expect(await exposed(upstream('http://x?a'), file, { FLINCH_MODELS: '{}' })).toEqual([]);
    expect(await exposed(state, file, { FLINCH_STATE_URL: 'redis://:hunter2@localhost' })).toEqual([]);
    chmodSync(file, 0o600);
    expect(await exposed(state, file)).toEqual([]);
  });
});
