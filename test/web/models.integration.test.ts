import { expect, it } from 'vitest';
import { listModels } from '#web/server/page-models.js';
import { BUFFERED, Endless } from '../support/endless.js';
import { FileServer } from '../support/file-server.js';

const server = new FileServer(Buffer.alloc(0));
const url = new URL(await server.listen());

const list = async (data: unknown): Promise<unknown> => {
  server.body = Buffer.from(JSON.stringify({ data }));
  return listModels(url, null).catch((error: Error) => error.message);
};

it('lists models', async () => {
  expect(await list([{ id: 'a' }])).toEqual([
    {
      id: 'a',
      embedded: false,
      singleTurn: false,
      methods: null,
      method: null,
      topLogprobs: null,
      problem: null,
      policy: null,
      calibration: null,
      escalatesTo: null,
    },
  ]);
});

it('takes a list without an end, or of very many, for none', async () => {
  expect(await list(Array(5001).fill({ id: 'a' }))).toBe('The server offers no model.');
  const endless = new Endless();
  server.instead.push(endless.answer(200, {}, '{"data": ["'));
  expect(await list([])).toBe('The server offers no model.');
  await expect.poll(() => endless.hungUp).toBe(1);
  expect(endless.bytes).toBeLessThan(BUFFERED);
});
