import { createServer, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';

/**
 * A server that speaks OpenAI's protocol as badly as one can, run as a process of its own. The prompt names the way
 * (`way=drip`) of those under `/ways`; without one, such as for a probe, the answer is as it should be.
 */

const HEAD =
  '{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":0,"model":"hostile","choices":[{"index":0,"delta":';

const token = (text: string): string =>
  `{"token":${JSON.stringify(text)},"logprob":-0.1,"bytes":null,"top_logprobs":[{"token":${JSON.stringify(text)},"logprob":-0.1,"bytes":null}]}`;
const entries = (count: number, entry: string): string => `[${Array(count).fill(entry).join(',')}]`;
const event = (content: string, logprobs = 'null', finish = 'null'): string =>
  `data: ${HEAD}{"content":${JSON.stringify(content)}},"logprobs":${logprobs},"finish_reason":${finish}}]}\n\n`;
const text = (count: number): string =>
  event('x '.repeat(count), `{"content":${entries(count, token('x '))}}`);
const END = `${event('', 'null', '"stop"')}data: [DONE]\n\n`;

/** Sends until the client leaves, or for good. */
async function forEver(response: ServerResponse, milliseconds: number, what: () => string): Promise<void> {
  while (!response.closed) {
    response.write(what());
    await setTimeout(milliseconds);
  }
}

const WAYS: Readonly<Record<string, (response: ServerResponse) => void | Promise<void>>> = {
  whole: (response) => void response.end(text(4) + END),
  comments: (response) => forEver(response, 20, () => ': still here\n\n'),
  empty: (response) => forEver(response, 20, () => event('')),
  silence: (response) => void response.write(text(4)),
  drip: async (response) => {
    for (const byte of text(4) + END) {
      if (response.closed) return;
      response.write(byte);
      await setTimeout(10);
    }
    response.end();
  },
  'after the end': async (response) => {
    response.write(text(4) + END);
    await forEver(response, 50, () => 'x');
  },
  'many tokens': (response) => void response.end(text(30_000) + END),
  'empty entries': (response) => void response.end(event('x', `{"content":${entries(340_000, '{}')}}`) + END),
  'no line ends': (response) => forEver(response, 1, () => 'data: x'.repeat(5000)),
  'no end': (response) => forEver(response, 5, () => text(20)),
  deep: (response) => void response.end(`data: ${'['.repeat(200_000)}${']'.repeat(200_000)}\n\n${END}`),
  marks: (response) => void response.end(event(`a${'\u0301\u0323'.repeat(100_000)}`) + END),
  'bytes of chance': async (response) => {
    for (let i = 0; i < 50 && !response.closed; i++) {
      response.write(crypto.getRandomValues(new Uint8Array(1000)));
      await setTimeout(10);
    }
    response.end();
  },
  cut: async (response) => {
    const bytes = text(40) + END;
    response.write(bytes.slice(0, Math.floor(bytes.length * Math.random())));
    await setTimeout(50);
    response.socket?.resetAndDestroy();
  },
  refused: (response) => void response.writeHead(500).end('{"error":'),
};

const server = createServer(async (request, response) => {
  if (request.url === '/ways') return void response.end(JSON.stringify(Object.keys(WAYS)));
  let body = '';
  for await (const part of request) body += part;
  const way = /way=([a-z ]+)/.exec(body)?.[1] ?? 'whole';
  if (way !== 'refused') response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.on('error', () => {}); // the other side left
  await WAYS[way]?.(response);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : null });
});
process.once('disconnect', () => process.exit());
