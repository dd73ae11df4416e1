import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type RequestBody, scriptedUpstream } from '../../support/scripted-upstream.js';
import { vllmDouble } from '../../support/upstream-doubles.js';
import { body, upstreamGateway } from '../../support/upstream-gateway.js';

const KEYS = { a: 'key-of-a-0123456789', b: 'key-of-b-0123456789' } as const;
const access = {
  keys: Object.entries(KEYS).map(([name, key]) => ({
    name,
    sha256: createHash('sha256').update(key).digest('hex'),
  })),
};

const asked = ({ messages = [] }: RequestBody): unknown => messages.at(-1)?.content;

/** Sure of all but garbage, and of the second step of its answer to "Doubt.". */
const probability = (index: number, request: RequestBody): number => {
  if (asked(request) === 'Garbage.') return 0.001;
  return asked(request) === 'Doubt.' && index >= 5 && index < 10 ? 0.2 : 0.9;
};

async function flagsOf(url: string, key: string, content: string): Promise<readonly unknown[]> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify({
      ...body({ messages: [{ role: 'user', content }], stream: false }),
      guard: { methods: ['nll'], rate: 0.1 },
    }),
  });
  expect(response.status).toBe(200);
  const { flinch }: { flinch: { steps: readonly { flagged: boolean }[] } } = await response.json();
  return flinch.steps.map(({ flagged }) => flagged);
}

describe('a running estimate', () => {
  it('belongs to a key: 25 garbage answers of one change none of the flags of another', async () => {
    const upstream = await scriptedUpstream(vllmDouble({ probability }));
    const { url } = await upstreamGateway([upstream.url], { retries: 0 }, {}, { access });
    for (let i = 0; i < 20; i++) await flagsOf(url, KEYS.b, 'Ordinary.');
    const flagged = [false, true, false];
    expect(await flagsOf(url, KEYS.b, 'Doubt.')).toEqual(flagged);
    for (let i = 0; i < 25; i++) await flagsOf(url, KEYS.a, 'Garbage.');
    expect(await flagsOf(url, KEYS.b, 'Doubt.')).toEqual(flagged);
    // With the same estimate for all, that was as ordinary as the rest of it.
    expect(await flagsOf(url, KEYS.a, 'Doubt.')).not.toContain(true);
  });
});
