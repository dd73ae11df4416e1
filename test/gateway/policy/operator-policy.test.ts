import { describe, expect, it, vi } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { ApiError } from '#gateway/errors/api-error.js';
import { underPolicy } from '#gateway/policy/operator-policy.js';
import { describePolicy, Policies } from '#gateway/policy/policies.js';
import { type AskedGuard, guardSchema } from '#gateway/requests/guard-limits.js';

interface Guards {
  readonly gateway?: object;
  readonly model?: object;
  readonly key?: object;
}

const configOf = ({ gateway, model, key }: Guards) =>
  configSchema.parse({
    ...(gateway && { guard: gateway }),
    models: { m: { checkpoint: 'x', ...(model && { guard: model }) }, other: { checkpoint: 'x' } },
    access: {
      keys: [
        { name: 'web', env: 'WEB', ...(key && { guard: key }) },
        { name: 'batch', env: 'BATCH' },
      ],
    },
  });

const policyOf = (guards: Guards, model = 'm', key = 'web') => new Policies(configOf(guards)).of(model, key);

/** The guard that a request has, or the field and the message of its refusal. */
function guardOf(guards: Guards, asked: AskedGuard = {}) {
  const policy = policyOf(guards);
  return policy ? guardSchema.parse(underPolicy(policy, asked)) : null;
}

function refusal(guards: Guards, asked: AskedGuard): string {
  try {
    guardOf(guards, asked);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, param, message } = error.body;
    expect({ status: error.status, code }).toEqual({ status: 403, code: 'policy_violation' });
    expect(message.startsWith(`${param}: `)).toBe(true);
    return message;
  }
  throw new Error('it was accepted');
}

describe('the defaults of a policy', () => {
  it('are those of the key before the model before the gateway, field by field', () => {
    const guards = {
      gateway: { defaults: { action: 'stop', rate: 0.1, per: 'answer' } },
      model: { defaults: { action: 'annotate', rate: 0.2 } },
      key: { defaults: { action: 'rollback' } },
    };
    expect(guardOf(guards)).toMatchObject({
      action: 'rollback',
      rate: 0.2,
      per: 'answer',
      delivery: 'immediate',
    });
  });

  it('are replaced by what a client sets', () => {
    const guards = { gateway: { defaults: { action: 'stop', delivery: 'held' } } };
    expect(guardOf(guards, { action: 'annotate' })).toMatchObject({ action: 'annotate', delivery: 'held' });
  });

  it('have a window that follows from the block', () => {
    expect(guardOf({ gateway: { defaults: { scoring: { block: 48 } } } })?.scoring).toMatchObject({
      block: 48,
      window: 48,
    });
  });

  it('have each setting of scores of the level that says it last, or of the client', () => {
    const guards = {
      gateway: { defaults: { scoring: { block: 48, window: 48 } } },
      model: { defaults: { scoring: { block: 8 } } },
      key: { defaults: { scoring: {} } },
    };
    expect(guardOf(guards, { scoring: { alpha: 0.1 } })?.scoring).toMatchObject({
      block: 8,
      window: 48,
      alpha: 0.1,
    });
  });

  it('are moved within the bounds where nobody sets them', () => {
    const bounds = { min_rate: 0.5, max_candidates: 2, max_rollbacks: 1 };
    expect(guardOf({ gateway: { bounds } })).toMatchObject({ rate: 0.5, candidates: 2, max_rollbacks: 1 });
    const wide = { min_rate: 0.001, max_candidates: 16, max_rollbacks: 64 };
    expect(guardOf({ gateway: { bounds: wide } })).toEqual(guardSchema.parse({}));
  });
});

describe('a locked field', () => {
  const guards = {
    key: {
      defaults: { action: 'rollback', scoring: { alpha: '0.005rms' } },
      locked: ['action', 'scoring'],
    },
  };

  it('cannot be changed', () => {
    expect(refusal(guards, { action: 'annotate' })).toBe(
      'guard.action: locked to "rollback" by the policy key:web',
    );
    expect(refusal(guards, { scoring: { alpha: 0.1 } })).toContain('guard.scoring: locked');
  });

  it('can be set to what it is, however it is written', () => {
    expect(guardOf(guards, { action: 'rollback', scoring: { alpha: '5e-3rms' }, rate: 0.1 })).toMatchObject({
      action: 'rollback',
      rate: 0.1,
    });
    expect(
      guardOf(
        { gateway: { locked: ['scoring', 'methods'], defaults: { methods: ['nll'] } } },
        {
          scoring: { window: 32 },
          methods: ['nll', 'nll'],
        },
      ),
    ).toMatchObject({ scoring: { window: 32 }, methods: ['nll'] });
  });

  it('is locked by any of the three, which the refusal names', () => {
    const all = { gateway: { name: 'house', locked: ['rate'] }, model: { locked: ['per'] }, key: {} };
    expect(refusal(all, { rate: 0.1 })).toContain('the policy house');
    expect(refusal(all, { per: 'answer' })).toContain('the policy model:m');
    expect(guardOf(all, { candidates: 2 })).toMatchObject({ candidates: 2 });
  });

  it.each<AskedGuard>([
    { enabled: false },
    { action: 'annotate' },
    { delivery: 'immediate' },
    { method: 'nll' },
    { methods: ['nll'] },
    { rate: 0.000001 },
    { candidates: 1 },
  ])('is every one with `all`: %o', (asked) => {
    const strict = { gateway: { defaults: { action: 'stop', delivery: 'held' }, locked: 'all' } };
    expect(refusal(strict, asked)).toContain(`guard.${Object.keys(asked)[0]}: locked`);
    expect(guardOf(strict, { enabled: true, action: 'stop' })).toMatchObject({ delivery: 'held' });
  });
});

describe('text that nothing scores', () => {
  const policy = (guards: Parameters<typeof policyOf>[0]) => {
    const { unscored, closed } = policyOf(guards)!;
    return { unscored, closed };
  };

  it('is refused where the guard cannot be switched off, or as the most specific policy says', () => {
    expect(policy({ key: {} })).toEqual({ unscored: 'pass', closed: false });
    expect(policy({ key: { locked: ['rate'] } })).toEqual({ unscored: 'pass', closed: true });
    expect(policy({ gateway: { locked: ['enabled'] } })).toEqual({ unscored: 'refuse', closed: true });
    expect(policy({ model: { locked: ['action'] }, key: {} })).toEqual({ unscored: 'refuse', closed: true });
    const open = { locked: 'all', unscored: 'pass' };
    expect(policy({ gateway: open })).toEqual({ unscored: 'pass', closed: false });
    expect(policy({ gateway: open, key: { unscored: 'refuse' } })).toEqual({
      unscored: 'refuse',
      closed: true,
    });
    expect(policy({ gateway: { unscored: 'refuse' } })).toEqual({ unscored: 'refuse', closed: true });
  });
});

describe('a bound', () => {
  const guards = {
    gateway: { bounds: { min_rate: 0.01, max_candidates: 8 } },
    key: { bounds: { min_rate: 0.005, max_candidates: 4, max_rollbacks: 2 } },
  };

  it('is the strictest of the three', () => {
    expect(refusal(guards, { rate: 0.007 })).toBe(
      'guard.rate: 0.007 is below 0.01, which is min_rate of the policy gateway',
    );
    expect(refusal(guards, { candidates: 5 })).toContain(
      'above 4, which is max_candidates of the policy key:web',
    );
    expect(refusal(guards, { max_rollbacks: 3 })).toContain('max_rollbacks of the policy key:web');
  });

  it('can be reached', () => {
    const asked = { rate: 0.01, candidates: 4, max_rollbacks: 2 };
    expect(guardOf(guards, asked)).toMatchObject(asked);
  });
});

describe('the policies of a configuration', () => {
  const guards = { gateway: { name: 'house' }, model: {}, key: { locked: ['enabled'] } };

  it('have the name of the most specific', () => {
    expect(policyOf(guards)?.name).toBe('key:web');
    expect(policyOf(guards, 'm', 'batch')?.name).toBe('model:m');
    expect(policyOf(guards, 'other', 'anonymous')?.name).toBe('house');
    expect(policyOf({ key: { name: 'strict' } }, 'other')?.name).toBe('strict');
    expect(policyOf({ key: {} }, 'm', 'batch')).toBeNull();
    expect(new Policies(configOf(guards)).names).toEqual(['house', 'model:m', 'key:web']);
  });

  it('are listed for a model, that of other keys first', () => {
    const policies = new Policies(configOf({ ...guards, model: { bounds: { max_candidates: 2 } } }));
    expect(policies.allOf('m').map(describePolicy)).toEqual([
      {
        name: 'model:m',
        defaults: { candidates: 2 },
        bounds: { max_candidates: 2 },
        locked: [],
        unscored: 'pass',
      },
      {
        name: 'key:web',
        defaults: { candidates: 2 },
        bounds: { max_candidates: 2 },
        locked: ['enabled'],
        unscored: 'refuse',
      },
    ]);
    expect(new Policies(configOf({})).allOf('m')).toEqual([]);
  });

  it('are none for models and keys that are named like a property of objects', () => {
    expect(policyOf({ key: {} }, 'constructor', 'toString')).toBeNull();
  });
});

it('is checked once where many keys and models have the same', () => {
  const checked = (count: number): number => {
    const parse = vi.spyOn(guardSchema, 'parse');
    const guard = { defaults: { rate: 0.1 } };
    const keys = Array.from({ length: count }, (_, i) => ({ name: `k${i}`, env: `K${i}`, guard }));
    const models = Array.from({ length: count }, (_, i) => [`m${i}`, { checkpoint: 'x', guard }] as const);
    configSchema.parse({ access: { keys }, models: Object.fromEntries(models) });
    const { length } = parse.mock.calls;
    parse.mockRestore();
    return length;
  };
  expect(checked(100)).toBe(checked(2));
});
