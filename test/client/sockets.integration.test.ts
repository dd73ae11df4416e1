import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { filter, firstValueFrom, lastValueFrom } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { answerText } from '#client/answer.js';
import { answerOf } from '#client/answer-of.js';
import { FlinchClient as BrowserClient } from '#client/index.js';
import { FlinchClient as NodeClient } from '#client/node.js';
import { BUFFERED, Endless } from '../support/endless.js';
import { rolledBack } from './fake-server.js';

const request = { model: 'reasoner', messages: [{ role: 'user', content: 'What is 2 + 2?' }] } as const;
const fast = { backoff: { firstMs: 1, maxMs: 1 } };

/** A server that answers every request with the same generation. */
async function serve(options: {
  admit?: (request: IncomingMessage) => number;
  http?: (request: IncomingMessage, response: ServerResponse) => void;
  connected?: (socket: WebSocket) => void;
}) {
  const { admit = () => 101, http = (_, response) => response.writeHead(404).end() } = options;
  const asked: IncomingMessage[] = [];
  const server = createServer(http);
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'flinch.v1' });
  server.on('upgrade', (request, connection, head) => {
    asked.push(request);
    const status = admit(request);
    if (status !== 101) {
      const error = { message: 'not with this key', type: 'x', param: null, code: 'unauthorized' };
      const body = JSON.stringify({ error });
      connection.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    sockets.handleUpgrade(request, connection, head, (socket) => {
      options.connected?.(socket);
      socket.on('message', (data) => {
        const { request_id } = JSON.parse(data.toString());
        for (const event of rolledBack()) {
          const echo = event.type === 'generation.created' ? { request_id } : {};
          socket.send(JSON.stringify({ ...event, ...echo }));
        }
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${port}`, asked };
}

const closed = async (client: NodeClient | BrowserClient) =>
  firstValueFrom(client.state.pipe(filter(({ status }) => status === 'closed')));

function using<Client extends NodeClient | BrowserClient>(client: Client): Client {
  onTestFinished(() => client.close());
  return client;
}

describe('the client in Node', () => {
  it('sends its key with the handshake, below the path of the gateway', async () => {
    const { url, asked } = await serve({});
    const client = using(new NodeClient({ url: `${url}/below`, apiKey: 'secret' }));
    const answer = await lastValueFrom(client.generate(request).pipe(answerOf()));
    expect(answerText(answer)).toBe('So 5!');
    expect(asked[0]?.url).toBe('/below/v1/stream');
    expect(asked[0]?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'sec-websocket-protocol': 'flinch.v1',
    });
  });

  it('ends where it is refused, with what the server says', async () => {
    const { url, asked } = await serve({ admit: () => 401 });
    const client = using(new NodeClient({ url, ...fast }));
    const answer = await lastValueFrom(client.generate(request).pipe(answerOf()));
    const error = { code: 'unauthorized', message: 'not with this key', status: 401 };
    expect(answer.error).toMatchObject(error);
    expect(await closed(client)).toMatchObject({ status: 'closed', error });
    expect(asked).toHaveLength(1);
  });

  it.each([429, 503])('tries again after status %i', async (status) => {
    let count = 0;
    const { url } = await serve({ admit: () => (count++ < 2 ? status : 101) });
    const client = using(new NodeClient({ url, ...fast }));
    const answer = await lastValueFrom(client.generate(request).pipe(answerOf()));
    expect([answer.phase, count]).toEqual(['done', 3]);
  });

  it('tries again where nobody listens', async () => {
    const probe = createTcpServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    const client = using(new NodeClient({ url: `http://127.0.0.1:${port}`, ...fast }));
    client.connect();
    const waiting = await firstValueFrom(client.state.pipe(filter(({ status }) => status === 'waiting')));
    expect(waiting).toMatchObject({ error: { code: 'connection_lost', closeCode: 1006 } });
    expect(JSON.stringify(waiting)).not.toContain('secret');
  });

  it('reads no refusal without an end', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 401 No\r\n\r\n');
      const send = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
        socket.once('drain', send);
      };
      socket.once('data', send);
      socket.once('close', () => {
        sent = socket.bytesWritten;
      });
    });
    let sent = Number.NaN;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const client = using(new NodeClient({ url: `http://127.0.0.1:${port}`, ...fast }));
    client.connect();
    expect(await closed(client)).toMatchObject({ error: { code: 'connection_refused', status: 401 } });
    await expect.poll(() => sent).toBeLessThan(BUFFERED);
  });

  it('ends at a frame that is not text', async () => {
    const { url } = await serve({ connected: (socket) => socket.send(Buffer.from([1])) });
    const client = using(new NodeClient({ url, ...fast }));
    client.connect();
    expect(await closed(client)).toMatchObject({ error: { code: 'protocol_error' } });
  });
});

describe.each([
  ['Node', NodeClient],
  ['browsers', BrowserClient],
])('the client in %s', (_, Client) => {
  it('refuses an address that is none', () => {
    expect(() => new Client({ url: 'nowhere' })).toThrow(TypeError);
  });
});

describe('the client in browsers', () => {
  const webSocket = WebSocket;

  it('exchanges its key for a ticket, one for each connection', async () => {
    let tickets = 0;
    const keys: unknown[] = [];
    let dropped = false;
    const { url, asked } = await serve({
      http: (request, response) => {
        keys.push([request.method, request.url, request.headers.authorization]);
        response.end(JSON.stringify({ ticket: `ticket ${tickets++}`, expires_at: 1 }));
      },
      connected: (socket) => {
        if (!dropped) socket.close(1012);
        dropped = true;
      },
    });
    const client = using(new BrowserClient({ url, apiKey: 'secret', webSocket, ...fast }));
    const answer = await lastValueFrom(client.generate(request).pipe(answerOf()));
    expect(answerText(answer)).toBe('So 5!');
    expect(keys).toEqual(Array(2).fill(['POST', '/v1/tickets', 'Bearer secret']));
    expect(asked.map(({ url }) => url)).toEqual(['/v1/stream?ticket=ticket+0', '/v1/stream?ticket=ticket+1']);
    expect(asked[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    [401, 'closed', 'unauthorized'],
    [503, 'waiting', 'connection_lost'],
  ])('after status %i for its ticket it is %s', async (status, state, code) => {
    const error = { message: 'no', type: 'x', param: null, code: 'unauthorized' };
    const { url, asked } = await serve({
      http: (_, response) => response.writeHead(status).end(JSON.stringify({ error })),
    });
    const client = using(new BrowserClient({ url, apiKey: 'secret', webSocket }));
    client.connect();
    const reached = await firstValueFrom(client.state.pipe(filter(({ status }) => status === state)));
    expect(reached).toMatchObject({ error: { code } });
    expect(asked).toEqual([]);
  });

  it.each([200, 503])('reads no ticket without an end, with status %i', async (status) => {
    const endless = new Endless();
    const { url, asked } = await serve({ http: endless.answer(status) });
    const client = using(new BrowserClient({ url, apiKey: 'secret', webSocket }));
    client.connect();
    const waiting = await firstValueFrom(client.state.pipe(filter(({ status }) => status === 'waiting')));
    expect(waiting).toMatchObject({ error: { message: expect.stringContaining('more than 65536 bytes') } });
    expect([endless.bytes < BUFFERED, asked]).toEqual([true, []]);
    // It tries again, and gives that up, too.
    await expect.poll(() => endless.hungUp).toBeGreaterThan(0);
  });

  it('takes tickets from elsewhere, and needs none', async () => {
    const { url, asked } = await serve({});
    const given = using(new BrowserClient({ url, ticket: async () => 'given', webSocket }));
    await lastValueFrom(given.generate(request));
    await lastValueFrom(using(new BrowserClient({ url, webSocket })).generate(request));
    expect(asked.map(({ url }) => url)).toEqual(['/v1/stream?ticket=given', '/v1/stream']);
  });
});
