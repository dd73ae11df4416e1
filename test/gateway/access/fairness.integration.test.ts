import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { scriptedUpstream } from '../../support/scripted-upstream.js';
import { vllmDouble } from '../../support/upstream-doubles.js';
import { body, upstreamGateway } from '../../support/upstream-gateway.js';

const KEYS = { greedy: 'greedy-key-0123456789', modest: 'modest-key-0123456789' } as const;
const keys = Object.entries(KEYS).map(([name, key]) => ({
  name,
  sha256: createHash('sha256').update(key).digest('hex'),
}));

async function ask(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify(body({ stream: false })),
  });
  await response.arrayBuffer();
  return response.status;
}

it('a key that has all places does not keep another from being served', async () => {
  let slow = false;
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const pace = async (): Promise<void> => {
    if (slow) await opened;
  };
  const upstream = await scriptedUpstream(vllmDouble({ pace }));
  const { url, status } = await upstreamGateway([upstream.url], { max_streams: 2 }, {}, { access: { keys } });
  expect(await ask(url, KEYS.modest)).toBe(200);
  slow = true;
  const greedy = [ask(url, KEYS.greedy), ask(url, KEYS.greedy)];
  await expect.poll(status).toMatchObject({ streams: 2 });
  expect(await ask(url, KEYS.greedy)).toBe(503);
  const modest = ask(url, KEYS.modest);
  await expect.poll(status).toMatchObject({ streams: 3 });
  for (let i = 0; i < 5; i++) expect(await ask(url, KEYS.greedy)).toBe(503);
  open();
  expect(await modest).toBe(200);
  expect(await Promise.all(greedy)).toEqual([200, 200]);
  expect(status()).toMatchObject({ streams: 0 });
  expect(await ask(url, KEYS.greedy)).toBe(200);
});
