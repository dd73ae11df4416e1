import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { completionTimes } from '#lab/speed/completion-times.js';

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, model: 'smollm2' } as const;
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const text = (piece: string): string => event({ choices: [{ index: 0, text: piece }] });

it('has the time of each chunk with text, and the tokens that the server has counted', async () => {
  // As llama.cpp: a token of half a character has no chunk, and the last one has no text.
  const server = await serve((_, response) => {
    for (const piece of ['one', ' two', ' three']) response.write(text(piece));
    response.write(text(''));
    response.end(`${event({ choices: [], usage: { completion_tokens: 4 } })}data: [DONE]\n\n`);
  });
  const { tokens, end } = await completionTimes(server, [1, 2], 4);
  expect(tokens).toHaveLength(4);
  expect(tokens[0]).toBeLessThan(end);
  expect(tokens.slice(2)).toEqual([end, end]);
});

it('tells what the server answers', async () => {
  const server = await serve((_, response) => response.writeHead(400).end('the prompt is too long'));
  await expect(completionTimes(server, [1, 2], 4)).rejects.toThrow('400 the prompt is too long');
});
