import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { serveConfig } from '#cli/serve/serve-config.js';
import { DEFAULT_SILENCE_MS } from '#client/client-connection.js';
import { configSchema } from '#gateway/config/gateway-config.js';
import { loadConfig } from '#gateway/config/load-config.js';
import { CONFIG_VARIABLES } from '#gateway/config/variables.js';
import { CONNECTION_BOUNDS } from '#gateway/connection-bounds.js';
import { ConfigError } from '#gateway/index.js';
import { flinch, useFolder } from '../../support/cli.js';

const folder = useFolder();
let files = 0;
const fileOf = (text: string): string => {
  files += 1;
  return folder.write(`${files}.yaml`, text);
};
const load = (text: string, env: NodeJS.ProcessEnv = {}) => loadConfig({ file: fileOf(text), env });

/** The message, with the file by its name alone. */
async function refusal(loading: Promise<unknown>): Promise<string> {
  try {
    await loading;
  } catch (error) {
    if (error instanceof ConfigError) return error.message.replace(/^.*\/\d+\.yaml(:\d+)?/, 'file');
    throw error;
  }
  throw new Error('it was accepted');
}

describe('the configuration', () => {
  it('is complete without any', async () => {
    expect(await loadConfig({})).toEqual(configSchema.parse({}));
  });

  it('takes each field from the last source that has it: file, environment, flags', async () => {
    const text = 'listen: {host: "::1", port: 1}\nlimits: {body_bytes: 2000, connections: 100}';
    const env = { FLINCH_LISTEN_PORT: '2', FLINCH_LIMITS_BODY_BYTES: '3000' };
    const flags = { config: fileOf(text), port: 3 };
    expect(await serveConfig(flags, env)).toMatchObject({
      listen: { host: '::1', port: 3 },
      limits: { body_bytes: 3000, connections: 100 },
    });
  });

  it('takes PORT, as platforms set it, but FLINCH_LISTEN_PORT before it, and an empty one for none', async () => {
    const portOf = async (env: NodeJS.ProcessEnv) => (await load('listen: {port: 1}', env)).listen.port;
    expect(await portOf({ PORT: '2' })).toBe(2);
    expect(await portOf({ PORT: '2', FLINCH_LISTEN_PORT: '3' })).toBe(3);
    expect(await portOf({ FLINCH_LISTEN_PORT: '3', PORT: '2' })).toBe(3);
    expect(await portOf({ PORT: '' })).toBe(1);
  });

  it('replaces lists and models as a whole', async () => {
    const text = 'access: {origins: ["https://a.example"]}\nmodels: {a: {checkpoint: x}}';
    const env = {
      FLINCH_ACCESS_ORIGINS: 'https://b.example, https://c.example:8443',
      FLINCH_MODELS: '{"b": {"checkpoint": "y"}}',
    };
    const { access, models } = await load(text, env);
    expect(access.origins).toEqual(['https://b.example', 'https://c.example:8443']);
    expect(models).toMatchObject({ b: { checkpoint: 'y' } });
    expect(models).not.toHaveProperty('a');
  });

  it('takes thousands of keys with one policy', async () => {
    const keys = Array.from({ length: 2000 }, (_, i) => `    - {name: k${i}, env: K${i}, guard: *p}\n`);
    const { access } = await load(`guard: &p {name: all}\naccess:\n  keys:\n${keys.join('')}`);
    expect(access.keys.at(-1)?.guard?.name).toBe('all');
  });

  it('reads JSON too, and a file that says nothing', async () => {
    expect((await load('{"listen": {"port": 4}}')).listen.port).toBe(4);
    const nothing = ['# nothing', 'listen:\n  # port: 1', 'access:\n  keys:\n    # none\nmodels:\n  # none'];
    for (const text of nothing) expect(await load(text)).toEqual(configSchema.parse({}));
  });

  it('minds no variables of clients, which may be set in the same shell', async () => {
    const env = { FLINCH_URL: 'http://127.0.0.1:8787', FLINCH_API_KEY: 'a-key' };
    expect(await loadConfig({ env })).toEqual(await loadConfig({}));
  });

  it('lets variables of ours hold keys, if the configuration names them', async () => {
    const text = 'access: {keys: [{name: a, env: FLINCH_KEY_A}]}';
    expect((await load(text, { FLINCH_KEY_A: 'x' })).access.keys).toHaveLength(1);
    const FLINCH_ACCESS_KEYS = '[{"name": "a", "env": "FLINCH_KEY_A"}]';
    const FLINCH_MODELS = '{"a": {"upstreams": [{"url": "http://x/v1", "key_env": "FLINCH_KEY_B"}]}}';
    const env = { FLINCH_KEY_A: 'x', FLINCH_ACCESS_KEYS, FLINCH_KEY_B: 'y', FLINCH_MODELS };
    expect((await loadConfig({ env })).access.keys).toHaveLength(1);
  });

  it.each([
    ['/nowhere.yaml', '/nowhere.yaml: cannot be read (ENOENT'],
    ['/', '/: cannot be read (is a folder)'],
    ['/dev/zero', '/dev/zero: cannot be read (is not a regular file)'],
  ])('names the file that cannot be read: %s', async (file, message) => {
    expect(await refusal(loadConfig({ file }))).toContain(message);
  });

  type Refused = [what: string, file: string, env: NodeJS.ProcessEnv, message: string];
  const refused: Refused[] = [
    ['a value of the file', 'listen: {port: 99999}', {}, 'file: listen.port: Too big'],
    [
      'a value of a variable',
      'listen: {port: 1}',
      { FLINCH_LISTEN_PORT: '-1' },
      'FLINCH_LISTEN_PORT: Too small',
    ],
    ['a text that is no number', '', { PORT: '8k' }, 'PORT: must be a number'],
    ['a text that is no boolean', '', { FLINCH_LOG_TEXTS: 'yes' }, 'FLINCH_LOG_TEXTS: must be true or false'],
    ['a variable that is not JSON', '', { FLINCH_MODELS: '{' }, 'FLINCH_MODELS: must be JSON'],
    ['a variable that nobody knows', '', { FLINCH_LISTEN_PROT: '1' }, 'did you mean FLINCH_LISTEN_PORT?'],
    [
      'a model to escalate to that is not there',
      'models: {a: {checkpoint: x, escalate: {to: b}}}',
      {},
      'models.a.escalate.to: b is not one of the models',
    ],
    [
      'a policy that escalates, of a model that names no other one',
      'models: {a: {checkpoint: x, guard: {defaults: {action: escalate}}}}',
      {},
      'models.a.guard.defaults.action: escalate: the model a has no field escalate',
    ],
    [
      'a model that cannot keep what the policy of the one before it locks',
      'models: {a: {checkpoint: x, escalate: {to: b}, guard: {defaults: {action: escalate, methods: [adversarial]}, locked: [methods]}}, b: {upstreams: [{url: http://127.0.0.1:9/v1}]}}',
      {},
      'models.a.escalate.to: b cannot keep what the policy model:a locks: methods: adversarial needs a scorer',
    ],
    [
      'an expression that is none',
      "models: {a: {checkpoint: x, vote: {regex: '('}}}",
      {},
      'models.a.vote.regex: Invalid regular expression',
    ],
    [
      'an unknown field',
      'listen: {prot: 1}',
      {},
      'file: listen.prot: is not a configuration field; did you mean port?',
    ],
    ['a field above its level', 'guard: {action: stop}', {}, '; it belongs at guard.defaults.action'],
    ['a field of several parts', 'port: 1', {}, 'it belongs at listen.port or metrics.port or health.port'],
    [
      'a key in the file',
      'access: {keys: [{name: a, key: hunter2}]}',
      {},
      'file: access.keys[0].key: is not a configuration field; keys are not in the file: write "env: FLINCH_KEY"',
    ],
    ['a file that is no record', '- 1', {}, 'file: must contain fields'],
    ['a file that is no YAML', 'listen: {', {}, 'file:10: Flow map'],
    [
      'a line of headers that is no YAML',
      'headers: {Authorization: "Bearer hunter2}',
      {},
      'Missing closing "quote',
    ],
    ['the same field twice', 'log: {level: info, level: warn}', {}, 'Map keys must be unique'],
    ['an alias to itself', 'models: {x: &a [*a]}', {}, 'an alias stands for what it is a part of'],
    ['an alias before its anchor', 'models: {m: *later}\nguard: &later {}', {}, 'Unresolved alias'],
    [
      'aliases that stand for a billion values',
      Array.from({ length: 9 }, (_, i) => `a${i}: &a${i} [${Array(10).fill(i ? `*a${i - 1}` : 'x')}]`).join(
        '\n',
      ),
      {},
      'Excessive alias count',
    ],
    ['lists that nest deep', '- '.repeat(10_000), {}, 'Maximum call stack size exceeded'],
    [
      'a variable that nests deep',
      '',
      { FLINCH_MODELS: '['.repeat(50_000) },
      'FLINCH_MODELS: nests deeper than',
    ],
    [
      'a file that is too large',
      `#${' '.repeat(4 << 20)}`,
      {},
      'cannot be read (has more than 4194304 bytes)',
    ],
    ['a prototype', '__proto__: {listen: {port: 1}}', {}, 'file: __proto__: is not a configuration field'],
    [
      'a model of no kind',
      'models: {a: {device: cpu}}',
      {},
      'file: models.a: must have either checkpoint or upstreams',
    ],
    [
      'a model with a mistyped field',
      'models: {a: {device: cpu, checkpiont: x}}',
      {},
      'file: models.a.checkpiont: is not a configuration field; did you mean checkpoint?',
    ],
    ['models without one', 'models: {}', {}, 'file: models: must contain at least one model'],
    [
      'the name of a model',
      'models: {"a b": {checkpoint: x}}',
      {},
      'file: models.a b: is not a valid model name',
    ],
    ...['http://u:hunter2@redis', 'redis://u:hunter2@', 'redis://redis/one'].map(
      (url): Refused => [
        `the address ${url} of Redis`,
        `state: {url: "${url}"}`,
        {},
        'file: state.url: must be redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT/DATABASE',
      ],
    ),
    ['a state without an address', '', { FLINCH_STATE_FAILURE_MODE: 'open' }, 'state.url is required'],
    [
      'a password',
      'models: {a: {upstreams: [{url: "http://u:p@x/v1"}]}}',
      {},
      'url: must not contain a password',
    ],
    [
      'a fragment',
      'models: {a: {upstreams: [{url: "https://x/v1#top"}]}}',
      {},
      'models.a.upstreams[0].url: must not contain a fragment',
    ],
    [
      "a header that is the gateway's",
      'models: {a: {upstreams: [{url: "https://x/v1", headers: {Host: y}}]}}',
      {},
      'models.a.upstreams[0].headers.Host: is set by the gateway itself',
    ],
    [
      'a key without a key',
      'access: {keys: [{name: a}]}',
      {},
      'file: access.keys[0]: must have one of sha256, env and key_file',
    ],
    [
      'two keys of a name',
      'access: {keys: [{name: a, env: A}, {name: a, env: B}]}',
      {},
      'file: access.keys: contains a duplicate name',
    ],
    [
      'an origin with a path',
      'access: {origins: ["https://a.example/"]}',
      {},
      'file: access.origins[0]: must be an origin',
    ],
    [
      'a host with a port',
      'access: {hosts: ["a.example:80"]}',
      {},
      'file: access.hosts[0]: must be a host name',
    ],
  ];
  it.each(refused)('refuses %s, and says where it is', async (_what, file, env, message) => {
    const said = await refusal(load(file, env));
    expect(said).toContain(message);
    expect(said).not.toContain('hunter2');
  });

  it.each([
    ['a field', 'log:\n  level: info\n\nlisten:\n  port: 99999\n', 5],
    ['an unknown field', 'listen:\n  port: 1\n  prot: 1\n', 3],
    ['a part that lacks a field', 'access:\n  keys:\n    - name: a\n      env: A\n    - name: b\n', 5],
    ['a field of JSON', '{\n  "listen": {\n    "port": 99999\n  }\n}', 3],
    ['what an alias stands for', 'guard: &p\n  locked: [x]\nmodels: {m: {checkpoint: x, guard: *p}}', 2],
    ['a name that YAML reads as a number', 'models:\n  7:\n    checkpoint: x\n    port: 1', 4],
  ])('names the line: %s', async (_what, text, line) => {
    const file = fileOf(text);
    await expect(loadConfig({ file })).rejects.toMatchObject({
      location: expect.stringContaining(`${file}:${line}: `),
    });
  });

  it('names the line and the column of what is no YAML', async () => {
    const file = fileOf('log: {}\nlisten: {');
    await expect(loadConfig({ file })).rejects.toMatchObject({ location: `${file}:2:10` });
  });

  it('has no heartbeat that clients would miss', () => {
    expect(2 * CONNECTION_BOUNDS.heartbeatMs).toBeLessThan(DEFAULT_SILENCE_MS);
  });

  it('has a variable of its own for each field', () => {
    expect(CONFIG_VARIABLES.get('FLINCH_ACCESS_ALLOW_ANONYMOUS')).toMatchObject({ kind: 'boolean' });
    expect(CONFIG_VARIABLES.get('FLINCH_STREAMS_RESUME_S')).toMatchObject({ path: ['streams', 'resume_s'] });
    expect(CONFIG_VARIABLES.size).toBeGreaterThan(30);
  });

  it('is as the example says, which has every field', async () => {
    const file = fileURLToPath(new URL('../../../docs/flinch.example.yaml', import.meta.url));
    const { models = {}, access, guard, webhooks, ...rest } = await loadConfig({ file });
    expect(guard).toMatchObject({ name: 'house', defaults: { rate: 0.05 }, bounds: { min_rate: 0.01 } });
    expect(Object.values(models).map((model) => 'checkpoint' in model)).toEqual([true, false]);
    expect(access.keys.map(({ name }) => name)).toEqual(['web', 'prometheus']);
    expect(webhooks.map(({ events }) => events)).toEqual([['flag', 'verdict']]);
    const defaults = configSchema.parse({
      metrics: { port: 9464 },
      health: { port: 9465 },
      access: { sockets: 512 },
      state: { url: 'redis://redis:6379' },
      limits: { response_tokens: 4096, kept_bytes: 2 ** 30, connections_per_address: 896 },
      log: { format: 'json' },
    });
    expect({ ...rest, webhooks: [], access: { ...access, keys: [] } }).toEqual(defaults);
    const written = parse(readFileSync(file, 'utf8'));
    for (const { path } of CONFIG_VARIABLES.values()) {
      expect(written).toHaveProperty([...path]);
    }
  });
});

describe('the manuals', () => {
  it.each(['access.md', 'flinch.example.yaml'])('%s: have no hash of a key that can be guessed', (name) => {
    const text = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
    const hashes = text.match(/\b[0-9a-f]{64}\b/g) ?? [];
    const guesses = ['', 'a', 'key', 'test', 'secret', 'password', 'changeme'];
    const guessed = guesses.map((guess) => createHash('sha256').update(guess).digest('hex'));
    expect(hashes).toHaveLength(1);
    expect(guessed).not.toContain(hashes[0]);
  });
});

describe('a policy that contradicts itself', () => {
  const key = (guard: string) => `access: {keys: [{name: a, env: A, guard: ${guard}}]}`;
  const model = (guard: string, more = '') => `models: {m: {checkpoint: x, guard: ${guard}${more}}}`;

  it.each([
    ['an unknown field', 'guard: {lock: all}', 'guard.lock: is not a configuration field'],
    [
      'an unknown default',
      'guard: {defaults: {rat: 0.1}}',
      'guard.defaults.rat: is not a configuration field',
    ],
    ['a default out of range', key('{defaults: {rate: 2}}'), 'access.keys[0].guard.defaults.rate: must be a'],
    [
      'a locked field that is none',
      model('{locked: [action, rat]}'),
      'models.m.guard.locked[1]: is not a field',
    ],
    ['a bound out of range', 'guard: {bounds: {max_candidates: 17}}', 'guard.bounds.max_candidates: must be'],
    [
      'a default beyond its bound',
      'guard: {defaults: {rate: 0.01}, bounds: {min_rate: 0.05}}',
      'guard.defaults.rate: 0.01 is below 0.05, which is bounds.min_rate of the policy gateway',
    ],
    [
      "a key's default beyond the gateway's bound",
      `guard: {name: house, bounds: {max_candidates: 2}}\n${key('{defaults: {candidates: 3}}')}`,
      'access.keys[0].guard.defaults.candidates: 3 is above 2, which is bounds.max_candidates of the policy house',
    ],
    [
      "a model's default beyond a key's bound",
      `${model('{defaults: {max_rollbacks: 3}}')}\n${key('{bounds: {max_rollbacks: 2}}')}`,
      'models.m.guard.defaults.max_rollbacks: 3 is above 2, which is bounds.max_rollbacks of the policy key:a',
    ],
    [
      'a method that is not among the methods',
      `guard: {defaults: {method: entropy}}\n${key('{defaults: {methods: [nll]}}')}`,
      'guard.defaults.method: is not among guard.methods',
    ],
    [
      'a window below the block',
      'guard: {defaults: {scoring: {block: 32, window: 16}}}',
      'guard.defaults.scoring.window: must be at',
    ],
    [
      'methods that need a scorer that a model does not have',
      'guard: {defaults: {methods: [adversarial]}}\nmodels: {m: {upstreams: [{url: "http://x/v1"}]}}',
      'guard.defaults.methods: adversarial needs a scorer',
    ],
    [
      'a method that is locked, but follows from others',
      'guard: {locked: [method]}',
      'guard.locked: method follows',
    ],
    ['a name of another kind', 'guard: {name: "a b"}', 'guard.name: must be 1 to 128 letters'],
    ['the name of none', 'guard: {name: none}', 'guard.name: must not be "none"'],
  ])('is refused: %s', async (_what, text, message) => {
    expect(await refusal(load(text))).toContain(`file: ${message}`);
  });

  it.each([
    'guard: {defaults: {enabled: false, method: entropy, methods: [nll]}, locked: all}',
    'guard: {bounds: {min_rate: 0.5, max_candidates: 1, max_rollbacks: 0}}',
    'guard: {defaults: {scoring: {alpha: 0.005rms}}, locked: [method, methods]}',
    model('{locked: all}', ', device: cpu'),
  ])('is not this: %s', async (text) => {
    expect(await load(text)).toHaveProperty('limits');
  });

  it('can come from the environment, as JSON', async () => {
    const env = { FLINCH_GUARD: '{"defaults": {"action": "stop"}, "locked": "all"}' };
    const { guard } = await load('guard: {bounds: {max_candidates: 2}}', env);
    expect(guard).toMatchObject({ defaults: { action: 'stop' }, bounds: {} });
    expect(guard?.locked).toContain('enabled');
    expect(await refusal(load('', { FLINCH_GUARD: '{"locked": ["x"]}' }))).toContain('FLINCH_GUARD: ');
  });
});

describe('flags for one model', () => {
  const models = async (flags: object, env = {}) => (await serveConfig(flags, env)).models;

  it('are for the embedded one by default', async () => {
    expect(await models({ device: 'auto', precision: 'int8', maxStreams: 2 })).toEqual({
      reasoner: {
        checkpoint: expect.stringMatching(/reasoner$/),
        device: 'auto',
        precision: 'int8',
        max_streams: 2,
      },
    });
  });

  it('name a checkpoint by its folder', async () => {
    expect(await models({ model: '/models/Qwen-0.5B/' })).toMatchObject({
      'Qwen-0.5B': { checkpoint: '/models/Qwen-0.5B/', max_streams: 16 },
    });
  });

  it.each([
    ['/models/my model', 'my-model'],
    ['/models/.größer', 'gr-er'],
    ['/', 'model'],
    [`/${'x'.repeat(200)}`, 'x'.repeat(128)],
  ])('name that of %s as requests can', async (model, name) => {
    expect(Object.keys(await models({ model }))).toEqual([name]);
  });

  it('describe an upstream', async () => {
    const flags = {
      upstream: 'http://gpu:8000/v1',
      upstreamModel: 'org/m',
      scorer: '/m',
      upstreamKeyEnv: 'K',
      scorerUrl: ['http://triton:8000'],
      scorerModel: 'm',
    };
    expect(await models(flags)).toMatchObject({
      'org/m': {
        upstreams: [{ url: 'http://gpu:8000/v1', key_env: 'K' }],
        scorer: '/m',
        scorer_url: ['http://triton:8000'],
        scorer_model: 'm',
        max_streams: 64,
      },
    });
  });

  it('take the place of those of the configuration', async () => {
    const env = { FLINCH_MODELS: '{"b": {"checkpoint": "y"}}' };
    expect(Object.keys(await models({}, env))).toEqual(['b']);
    expect(Object.keys(await models({ model: '/models/a' }, env))).toEqual(['a']);
  });

  it.each([
    [{ upstream: 'http://x/v1' }, '--upstream: requires --upstream-model'],
    [{ upstream: 'x', upstreamModel: 'm' }, '--upstream: must be an http'],
    [{ upstream: 'http://x', model: '/a' }, '--upstream: cannot be used with --model'],
    [{ scorer: '/a' }, '--scorer: requires --upstream'],
    [{ scorerUrl: ['http://t'] }, '--scorer-url: requires --upstream'],
    [
      { upstream: 'http://x', upstreamModel: 'm', scorer: '/a', scorerUrl: ['http://t'] },
      '--scorer-url: requires scorer_model',
    ],
    [{ model: '/a', maxStreams: 4000 }, '--max-streams: Too big'],
    [
      { model: '/a', device: 'cuda', precision: 'int8' },
      '--precision: int8 runs on the device cpu only, bf16 on cuda only',
    ],
    [{ model: '/a', precision: 'bf16' }, '--precision: int8 runs on the device cpu only, bf16 on cuda only'],
    [{ upstream: 'http://x', upstreamModel: 'm', precision: 'int8' }, '--precision: requires scorer'],
  ])('refuses %o', async (flags, message) => {
    expect(await refusal(models(flags))).toContain(message);
  });

  it('refuses settings of a model beside models that have their own', async () => {
    const env = { FLINCH_MODELS: '{"b": {"checkpoint": "y"}}' };
    expect(await refusal(models({ device: 'auto' }, env))).toContain('--device: requires --model');
  });
});

describe('flinch serve --check-config', () => {
  it('prints what is in force, but no secret', async () => {
    const sha256 = 'ab'.repeat(32);
    const file = fileOf(`access: {keys: [{name: a, sha256: ${sha256}}, {name: b, env: FLINCH_KEY_B}]}`);
    const env = {
      FLINCH_KEY_B: 'secret-of-b-0123456789',
      FLINCH_STATE_URL: 'rediss://me:secret-of-redis@redis:6380/1',
    };
    const { code, stdout, stderr } = await flinch(
      ['serve', '--config', file, '--check-config', '--port', '9'],
      '',
      env,
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('port: 9');
    expect(stdout).toContain('env: FLINCH_KEY_B');
    expect(stdout).not.toContain(sha256);
    expect(stdout).not.toContain('secret-of-b');
    expect(stdout).toContain('url: rediss://[hidden]@redis:6380/1');
    expect(stdout).not.toContain('secret-of-redis');
  });

  it('and flinch doctor show no credentials of servers and receivers', async () => {
    const headers = '{Authorization: Bearer sekret, X-Team: sekret}';
    const file = fileOf(
      `models: {m: {upstreams: [{url: "http://127.0.0.1:1/v1?token=sekret", headers: ${headers}}]}}\n` +
        'webhooks: [{url: "https://hooks.example/services/sekret?token=sekret", secret_env: HOOK}]\n',
    );
    const env = { HOOK: `whsec_${Buffer.alloc(32, 7).toString('base64')}` };
    const said = [];
    for (const command of [['serve', '--check-config'], ['doctor'], ['doctor', '--json']]) {
      const { stdout, stderr } = await flinch([...command, '--config', file], '', env);
      expect(stderr).toBe('');
      said.push(stdout);
    }
    expect(said.join()).not.toContain('sekret');
    expect(said[0]).toContain('url: http://127.0.0.1:1/v1?[hidden]');
    expect(said[0]).toContain('url: https://hooks.example/[hidden]?[hidden]');
    expect(said[1]).toContain('curl http://127.0.0.1:1/v1/models');
  });

  it('refuses what could not be served', async () => {
    const check = async (...args: string[]) => (await flinch(['serve', '--check-config', ...args])).stderr;
    expect(await check('--host', '0.0.0.0')).toMatch(
      /listen\.host: 0\.0\.0\.0 is not a loopback address.*--allow-anonymous/,
    );
    expect(await check('--host', '0.0.0.0', '--allow-anonymous')).toBe('');
    const file = fileOf('access: {keys: [{name: a, env: FLINCH_KEY_A}]}');
    expect(await check('--config', file)).toContain('access.keys: a: the variable FLINCH_KEY_A is not set');
    expect(await check('--config', '/nowhere.yaml')).toContain('/nowhere.yaml: cannot be read (ENOENT');
    expect(await check('--model', '/nowhere')).toContain('/nowhere: no such file or folder');
  });
});
