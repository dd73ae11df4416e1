import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { checkModels, Metrics, openModels, startGateway } from '#gateway/index.js';
import { post } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { kill } from '../support/process.js';

const options = { logger: pino({ level: 'silent' }), env: {}, metrics: new Metrics() };
const open = (models: object, logger = options.logger) => {
  const config = configSchema.parse({ models });
  return openModels(config.models ?? {}, { ...options, logger });
};
const processes = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'ProcessWrap').length;

describe('openModels', () => {
  it('opens several, which are served by their names', async () => {
    const before = processes(); // of the engine that test files share
    const log: string[] = [];
    const logger = pino({}, { write: (line: string) => log.push(line) });
    const opened = await open(
      { small: { checkpoint: REASONER }, 'org/other': { checkpoint: REASONER } },
      logger,
    );
    const gateway = await startGateway({ models: opened.models, config: { listen: { port: 0 } } });
    for (const model of ['small', 'org/other']) {
      const body = {
        model,
        temperature: 0,
        max_tokens: 3,
        messages: [{ role: 'user', content: 'What is 1 + 1?' }],
      };
      expect(await (await post(gateway.url, body)).json()).toMatchObject({
        model,
        usage: { completion_tokens: 3 },
      });
    }
    const other = await fetch(`${gateway.url}/v1/models/org/other`);
    expect(await other.json()).toMatchObject({ id: 'org/other', object: 'model' });
    // Of an idle one nobody else would hear.
    kill(opened.all[0]?.engine?.status().decode.pid);
    await expect
      .poll(() => log.map((line) => JSON.parse(line)))
      .toMatchObject([{ model: 'small', process: 'decode', reason: 'SIGKILL', msg: 'engine process died' }]);
    await gateway.close();
    await opened.close();
    await expect.poll(processes).toBe(before);
  });

  it('leaves none open if one cannot be', async () => {
    const before = processes();
    const opening = open({ small: { checkpoint: REASONER }, missing: { checkpoint: '/nowhere' } });
    await expect(opening).rejects.toThrow('/nowhere');
    await expect.poll(processes).toBe(before);
  });
});

describe('checkModels', () => {
  const check = async (models: object, env = {}) =>
    checkModels(configSchema.parse({ models }).models ?? {}, env);
  const url = 'http://127.0.0.1:1/v1'; // nobody asks there

  it('finds a folder that is no checkpoint', async () => {
    await check({ m: { checkpoint: REASONER }, n: { upstreams: [{ url }], scorer: REASONER } });
    await expect(check({ m: { checkpoint: '/nowhere' } })).rejects.toThrow(
      '/nowhere: no such file or folder',
    );
    const scorer = { m: { upstreams: [{ url }], scorer: '/nowhere' } };
    await expect(check(scorer)).rejects.toThrow('/nowhere: no such file or folder');
  });

  it('finds a key whose variable is not set', async () => {
    const models = { m: { upstreams: [{ url }, { url, key_env: 'M_KEY' }] } };
    await check(models, { M_KEY: 'secret' });
    await expect(check(models)).rejects.toThrow(
      'models.m.upstreams[1].key_env: the variable M_KEY is not set',
    );
    await expect(check(models, { M_KEY: '' })).rejects.toThrow('is not set');
    await expect(check(models, { M_KEY: 'a-key\n' })).rejects.toThrow(
      'without white space or a newline at its ends',
    );
  });
});
