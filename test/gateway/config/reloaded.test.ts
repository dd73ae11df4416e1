import { describe, expect, it } from 'vitest';
import { ConfigError } from '#gateway/config/config-error.js';
import { type ConfigInput, configSchema } from '#gateway/config/gateway-config.js';
import { reloaded } from '#gateway/config/reloaded.js';

const reload = (before: ConfigInput, after: ConfigInput) =>
  reloaded(configSchema.parse(before), configSchema.parse(after));

const key = { name: 'web', env: 'WEB' };

describe('a configuration that is read again', () => {
  it('names the fields that need a restart, and keeps them as they were', () => {
    const before: ConfigInput = {
      models: { a: { checkpoint: 'x' }, b: { checkpoint: 'x' } },
      streams: { resume_s: 50 },
    };
    const after: ConfigInput = {
      listen: { port: 1 },
      streams: { resume_s: 60 },
      models: { a: { checkpoint: 'y' }, c: { checkpoint: 'x' } },
    };
    const { config, restart } = reload(before, after);
    expect([...restart].sort()).toEqual([
      'listen.port',
      'models.a.checkpoint',
      'models.b',
      'models.c',
      'streams.resume_s',
    ]);
    expect(config).toEqual(configSchema.parse(before));
  });

  it('replaces policies and access at once', () => {
    const guard = { locked: ['rate'] as const, defaults: { rate: 0.5 } };
    const before: ConfigInput = { models: { a: { checkpoint: 'x' } }, access: { keys: [key] } };
    const after: ConfigInput = {
      guard: { ...guard, locked: [...guard.locked] },
      models: { a: { checkpoint: 'x', guard: { bounds: { max_candidates: 2 } } } },
      access: {
        keys: [
          { ...key, guard: { defaults: { action: 'stop' } } },
          { name: 'new', env: 'NEW' },
        ],
        origins: ['https://a.example'],
        hosts: ['a.example'],
        generations: 3,
      },
    };
    expect(reload(before, after)).toEqual({ config: configSchema.parse(after), restart: [] });
    expect(reload(after, before)).toEqual({ config: configSchema.parse(before), restart: [] });
  });

  it('opens no gateway that has keys', () => {
    const keyed: ConfigInput = { models: { a: { checkpoint: 'x' } }, access: { keys: [key] } };
    const open: ConfigInput = { models: { a: { checkpoint: 'x' } } };
    expect(() => reload(keyed, open)).toThrow('access.keys: are missing');
    expect(() => reload(open, keyed)).not.toThrow();
  });

  it('leaves the policy of a model that it does not have', () => {
    const before: ConfigInput = { models: { a: { checkpoint: 'x', guard: { locked: ['rate'] } } } };
    const { config, restart } = reload(before, { models: { b: { checkpoint: 'x' } } });
    expect([config.models?.a?.guard?.locked, restart]).toEqual([['rate'], ['models.a', 'models.b']]);
  });

  it('is refused if it contradicts the policy of such a model', () => {
    const before: ConfigInput = { models: { a: { checkpoint: 'x', guard: { defaults: { rate: 0.1 } } } } };
    const after: ConfigInput = {
      models: { b: { checkpoint: 'x' } },
      guard: { bounds: { min_rate: 0.5 }, defaults: { rate: 0.5 } },
    };
    expect(() => reload(before, after)).toThrow(ConfigError);
    expect(() => reload(before, after)).toThrow(/^models\.a\.guard\.defaults\.rate: 0\.1 is below 0\.5/);
  });
});
