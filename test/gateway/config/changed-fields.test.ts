import { describe, expect, it } from 'vitest';
import { changedFields } from '#gateway/config/changed-fields.js';
import { type ConfigInput, configSchema } from '#gateway/config/config.js';

const changed = (before: ConfigInput, after: ConfigInput): string[] =>
  changedFields(configSchema.parse(before), configSchema.parse(after));

describe('the fields that need a restart', () => {
  const key = { name: 'web', env: 'WEB' };

  it('are named', () => {
    const before: ConfigInput = { models: { a: { checkpoint: 'x' }, b: { checkpoint: 'x' } } };
    const after: ConfigInput = {
      listen: { port: 1 },
      access: { keys: [key] },
      models: { a: { checkpoint: 'y' }, c: { checkpoint: 'x' } },
    };
    expect(changed(before, after).sort()).toEqual([
      'access.keys',
      'listen.port',
      'models.a.checkpoint',
      'models.b',
      'models.c',
    ]);
  });

  it('are not those of policies', () => {
    const guard = { locked: ['rate'] as const, defaults: { rate: 0.5 } };
    const before = { models: { a: { checkpoint: 'x' } }, access: { keys: [key] } };
    const after = {
      guard: { ...guard, locked: [...guard.locked] },
      models: { a: { checkpoint: 'x', guard: { bounds: { max_candidates: 2 } } } },
      access: { keys: [{ ...key, guard: { defaults: { action: 'stop' as const } } }] },
    };
    expect(changed(before, after)).toEqual([]);
    expect(changed(after, before)).toEqual([]);
  });
});
