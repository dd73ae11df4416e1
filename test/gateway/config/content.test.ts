import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { secretsIn, shownConfig } from '#gateway/config/content.js';
import { type ConfigInput, configSchema } from '#gateway/config/gateway-config.js';
import { mergeConfig } from '#gateway/config/load-config.js';

/** Every text of the configuration; those that are not to be shown have `sekret` in them, whatever else they need. */
const policy = {
  name: 'house',
  defaults: { scoring: { window: 'all', alpha: '1rms' } },
};
const upstream = {
  url: 'https://h.example/v1?token=sekret',
  model: 'shown-name',
  key_env: 'SHOWN_VARIABLE',
  headers: {
    Authorization: 'Bearer sekret',
    'X-Team': 'sekret',
    'X-A': { env: 'SHOWN' },
    'X-B': { file: '/shown' },
  },
};
const SHA256 = '5ec2e7'.padEnd(64, '0');
const FULL = {
  listen: { host: 'localhost' },
  metrics: { host: '127.0.0.2' },
  health: { host: '127.0.0.3' },
  guard: policy,
  access: {
    keys: [
      { name: 'a', sha256: SHA256, guard: policy },
      { name: 'b', env: 'SHOWN_B' },
      { name: 'c', key_file: '/run/shown' },
    ],
    origins: ['https://shown.example'],
    hosts: ['shown.example'],
  },
  state: { url: 'rediss://sekret:sekret@redis:6379/1' },
  webhooks: [
    { url: 'https://hooks.example/services/sekret', secret_env: 'SHOWN_HOOK' },
    { url: 'https://hooks.example/botsekret/x?token=sekret', secret_file: '/run/hook' },
  ],
  models: {
    own: {
      checkpoint: '/shown',
      calibration: '/shown.json',
      escalate: { to: 'other' },
      vote: { regex: 'a(b)' },
      guard: policy,
    },
    other: {
      upstreams: [upstream, { url: 'http://x', key_file: '/run/server' }],
      scorer: '/shown',
      scorer_url: ['http://triton/?token=sekret', 'http://triton:8000'],
      scorer_model: 'shown',
      calibration: '/shown',
      escalate: { to: 'own' },
      vote: { regex: 'a' },
      guard: policy,
      passthrough: ['POST /v1/classify'],
    },
  },
} satisfies ConfigInput;

type Schema = z.core.JSONSchema.BaseSchema;
type Path = readonly string[];

/** Paths of all texts of the schema, with `*` for any name or item. */
function textsOf(schema: Schema, path: Path): Path[] {
  const parts = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some = []) => some);
  const named = Object.entries({ ...schema.properties, '*': schema.additionalProperties ?? schema.items });
  const below = named.flatMap(([name, part]) =>
    typeof part === 'object' && !Array.isArray(part) ? textsOf(part, [...path, name]) : [],
  );
  const own = schema.type === 'string' && !schema.enum && schema.const === undefined ? [path] : [];
  return [...own, ...parts.flatMap((part) => textsOf(part, path)), ...below];
}

const allTexts = textsOf(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }), []);

function at(value: unknown, [name, ...rest]: Path): unknown[] {
  if (name === undefined) return typeof value === 'string' ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => (name === '*' || key === name ? at(part, rest) : []));
}

const location = { values: FULL, location: String };

describe('a configuration that is shown', () => {
  it('has every text of the schema here, so that a new one is thought of', () => {
    const missing = allTexts.filter((path) => at(FULL, path).length === 0);
    // It has one address, or several.
    expect([...new Set(missing.map((path) => path.join('.')))]).toEqual(['models.*.scorer_url']);
  });

  it('has no text but those that are known to be no secrets', () => {
    const shown = JSON.stringify(shownConfig(mergeConfig([location])));
    expect(shown).not.toMatch(/sekret|5ec2e7/);
    const addresses = [
      'https://h.example/v1?[hidden]',
      'rediss://[hidden]@redis:6379/1',
      'http://triton:8000',
    ];
    const others = [
      '"https://hooks.example/[hidden]"',
      '"https://hooks.example/[hidden]?[hidden]"',
      '"http://x"',
    ];
    for (const text of [...addresses, ...others, 'SHOWN_VARIABLE', '/run/hook'])
      expect(shown).toContain(text);
  });

  it('hides the texts of a field that says nothing of them', () => {
    expect(shownConfig({ nobody: { knows: ['sekret', 1, true, null] } })).toEqual({
      nobody: { knows: ['[hidden]', 1, true, null] },
    });
  });

  it('names the files with secrets', () => {
    const { files } = secretsIn(mergeConfig([location]));
    const names = files.map(({ text, path }) => [path.join('.'), text]);
    expect(names).toContainEqual(['models.other.upstreams.0.headers.X-B.file', '/shown']);
    expect(names.map(([, file]) => file).sort()).toEqual([
      '/run/hook',
      '/run/server',
      '/run/shown',
      '/shown',
    ]);
  });
});
