import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
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

it('a key whose loops take all places does not keep another from being served', async () => {
  const upstream = await scriptedUpstream(vllmDouble({ pace: () => setTimeout(10) }));
  const { url, status } = await upstreamGateway([upstream.url], { max_streams: 3 }, {}, { access: { keys } });
  expect(await ask(url, KEYS.modest)).toBe(200);
  const greedy: number[] = [];
  let over = false;
  const loops = Array.from({ length: 24 }, async () => {
    while (!over) {
      greedy.push(await ask(url, KEYS.greedy));
      await setTimeout(200);
    }
  });
  await expect.poll(() => greedy.includes(503)).toBe(true);
  const modest: number[] = [];
  for (let i = 0; i < 8; i++) modest.push(await ask(url, KEYS.modest));
  over = true;
  await Promise.all(loops);
  expect(modest).toEqual(Array(8).fill(200));
  // All others are for the greedy one, and nothing of it is left.
  expect(greedy.filter((each) => each === 200).length).toBeGreaterThan(8);
  expect(status()).toMatchObject({ streams: 0 });
  expect(await ask(url, KEYS.greedy)).toBe(200);
});
