import { cp, rename } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineModel, type Gateway, Models, startGateway } from '#gateway/index.js';
import { Engine } from '#src/index.js';
import { useFolder } from '../support/cli.js';
import { chatBody, post, sseData } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';
import { freeze, kill } from '../support/process.js';
import { LONG_QUESTION } from '../support/requests.js';

const folder = useFolder();
let engine: Engine;
let gateway: Gateway;
beforeEach(async () => {
  const model = folder.path('reasoner');
  await cp(REASONER, model, { recursive: true });
  // A short text: the longest run of a slow machine counts towards the limit.
  engine = await Engine.open(model, { stallSeconds: 3, contextLength: 320 });
  await engine.start();
  const models = new Models([await EngineModel.open('reasoner', engine)]);
  gateway = await startGateway({ models, config: { listen: { port: 0 } } });
});
afterEach(async () => {
  await gateway.close();
  await engine.close();
});

const ready = async (): Promise<number> => (await fetch(`${gateway.url}/readyz`)).status;
/** Scored by the process that does nothing else. */
const guard = { methods: ['adversarial', 'nll'] };
const question = () =>
  post(
    gateway.url,
    chatBody({ stream: true, messages: [{ role: 'user', content: LONG_QUESTION }], max_tokens: 100, guard }),
  );
const lastOf = async (response: Response, seen: (count: number) => void = () => {}): Promise<string> => {
  const events: string[] = [];
  for await (const data of sseData(response)) seen(events.push(data));
  return events.at(-1) ?? '';
};

describe('an engine process that stands', () => {
  it.each(['decode', 'score'] as const)(
    '(%s) ends its streams with engine_stalled, and is ready again by itself',
    async (role) => {
      const { pid } = engine.status()[role];
      const last = await lastOf(await question(), (count) => {
        if (count === 3) freeze(pid);
      });
      expect(JSON.parse(last)).toMatchObject({ error: { type: 'server_error', code: 'engine_stalled' } });
      expect(await ready()).toBe(503);
      await expect.poll(ready).toBe(200);
      expect(await lastOf(await question())).toBe('[DONE]');
    },
  );
});

describe('readiness', () => {
  it('is none while a new process has not loaded its model', async () => {
    const { pid } = engine.status().decode;
    kill(pid);
    const fresh = () => [undefined, pid].includes(engine.status().decode.pid) === false;
    while (!fresh()) await new Promise(setImmediate);
    const { decode } = engine.status();
    freeze(decode.pid);
    expect(decode.device).toBeUndefined();
    expect(await ready()).toBe(503);
    freeze(decode.pid, 'SIGCONT');
    await expect.poll(ready).toBe(200);
  });

  it('comes back without a request once the files of a model do', async () => {
    expect((await post(gateway.url, chatBody({ max_tokens: 2 }))).status).toBe(200);
    const weights = folder.path('reasoner/model.safetensors');
    await rename(weights, `${weights}.away`);
    const unavailable = new Promise((resolve) => {
      engine.onLoss(({ what }) => what === 'unavailable' && resolve(what));
    });
    kill(engine.status().score.pid);
    await unavailable;
    expect(await ready()).toBe(503);
    const refused = await post(gateway.url, chatBody({ max_tokens: 2, guard }));
    expect(refused.status).toBe(503);
    const { error } = await refused.json();
    expect(error).toMatchObject({ code: 'engine_unavailable' });
    expect(error.message).not.toContain(folder.path(''));
    await rename(`${weights}.away`, weights);
    await expect.poll(ready).toBe(200);
    expect((await post(gateway.url, chatBody({ max_tokens: 2 }))).status).toBe(200);
  });
});
