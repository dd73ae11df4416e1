import { describe, expect, onTestFinished, test } from 'vitest';
import { needsServer, startServer } from '../support/peers.js';

describe.each([
  ['vllm', 'reasoner'],
  ['vllm', 'smollm2'],
  ['llama-cpp', 'reasoner'],
  ['llama-cpp', 'smollm2'],
] as const)('%s with %s', (name, model) => {
  const { missing, reason } = needsServer(name, model);

  test.skipIf(missing)(`starts, lists the model, and ends${reason}`, async () => {
    const server = await startServer(name, model);
    onTestFinished(() => server.close());
    const { data }: { data: { id: string }[] } = await (await fetch(`${server.url}/models`)).json();
    expect(data.map(({ id }) => id)).toEqual([model]);
    await server.close();
    await expect(fetch(`${server.url}/models`)).rejects.toThrow();
  });
});
