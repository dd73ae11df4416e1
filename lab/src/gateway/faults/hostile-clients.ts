import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Chance } from './chance.js';
import type { Tally } from './tally.js';

/** Clients that misuse the port, each from one address that is not the honest clients'. */

/** Another address of the same machine: the gateway shares connections out by address. */
const ADDRESS = '127.0.0.2';
const STAY_MS = [200, 30_000] as const;
const PAUSE_MS = [100, 2000] as const;

export interface HostileOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Kinds of misbehaviour of the hostile upstream. */
  readonly ways: readonly string[];
  readonly signal: AbortSignal;
  readonly tally: Tally;
}

/** Actions of a client on its connection, and whether it then reads the response. */
interface Misuse {
  readonly send: (socket: Socket, chance: Chance, options: HostileOptions) => void;
  readonly reads: boolean;
}

const head = (line: string, apiKey: string, fields = ''): string =>
  `${line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${apiKey}\r\n${fields}\r\n`;
const post = (body: string, apiKey: string): string =>
  head(
    'POST /v1/chat/completions',
    apiKey,
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`,
  ) + body;
const ask = (model: string, content: string, fields: object = {}): string =>
  JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }], ...fields });
const handshake = (apiKey: string): string =>
  head(
    'GET /v1/stream',
    apiKey,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: flinch.v1\r\n',
  );

/** A masked frame (RFC 6455, 5.2); the mask is 0. */
function frame(text: string, { fin = true, announced = Buffer.byteLength(text) } = {}): Buffer {
  const header = Buffer.alloc(14);
  header[0] = (fin ? 0x80 : 0) | 1;
  header[1] = 0x80 | 127;
  header.writeBigUInt64BE(BigInt(announced), 2);
  return Buffer.concat([header, Buffer.from(text)]);
}

const random = (chance: Chance, bytes: number): Buffer =>
  Buffer.from(Array.from({ length: bytes }, () => chance.integer(0, 255)));

/** Fields and texts that are refused, or take long. */
const ODD: readonly ((chance: Chance) => string)[] = [
  () => '{',
  () => `{"messages":${'['.repeat(100_000)}`,
  () => ask('own', 'x', { __proto__: null, nothing: 1 }),
  () => ask('nobody', 'x'),
  () => ask('own', `a${'\u0301\u0323'.repeat(100_000)}`),
  () => ask('own', 'x '.repeat(400_000)),
  () => ask('busy', 'x', { tools: Array(20_000).fill({ type: 'function', function: { name: 'f' } }) }),
  () => ask('own', 'x', { guard: { scoring: { window: 'all', block: 1, samples: 1e9 } } }),
  (chance) => random(chance, 2000).toString('latin1'),
];

const MISUSES: Readonly<Record<string, Misuse>> = {
  'an idle connection': { send: () => {}, reads: true },
  'half a request': {
    send: (socket, _, { apiKey }) => socket.write(post(ask('own', 'x'), apiKey).slice(0, 60)),
    reads: true,
  },
  'bytes of chance': { send: (socket, chance) => socket.write(random(chance, 4000)), reads: true },
  'pipelined, unread': {
    send: (socket, _, { apiKey }) => socket.write(head('GET /main.js', apiKey).repeat(1500)),
    reads: false,
  },
  'unread stream': {
    send: (socket, _, { apiKey }) => socket.write(post(ask('busy', 'tokens=20000 interval=0'), apiKey)),
    reads: false,
  },
  'unread answer': {
    send: (socket, _, { apiKey }) =>
      socket.write(post(ask('busy', 'tokens=5000 interval=0', { stream: false }), apiKey)),
    reads: false,
  },
  'slow reader': {
    send: (socket, _, { apiKey }) => {
      socket.write(post(ask('busy', 'tokens=5000 interval=0'), apiKey));
      socket.on('data', async () => {
        socket.pause();
        await setTimeout(500, undefined, { ref: false });
        socket.resume();
      });
    },
    reads: true,
  },
  'refused requests': {
    send: (socket, chance, { apiKey }) => {
      for (let i = 0; i < 8; i++) socket.write(post(chance.of(ODD)(chance), apiKey));
    },
    reads: true,
  },
  'a wrong key': {
    send: (socket) => socket.write(post(ask('own', 'x'), 'not-a-key-of-this-gateway')),
    reads: true,
  },
  'leaves its stream': {
    send: (socket, chance, { apiKey }) =>
      socket.write(post(ask(chance.of(['own', 'scored', 'busy']), 'tokens=500 interval=20'), apiKey)),
    reads: true,
  },
  'refused messages': {
    send: (socket, _, { apiKey }) => {
      socket.write(handshake(apiKey));
      for (let i = 0; i < 4; i++) socket.write(frame(`{"type":"x${'x'.repeat(1_000_000)}"}`));
    },
    reads: true,
  },
  'an unfinished message': {
    send: (socket, _, { apiKey }) => {
      socket.write(handshake(apiKey));
      socket.write(frame('x'.repeat(900_000), { fin: false }));
    },
    reads: true,
  },
  'hostile upstream': {
    send: (socket, chance, { apiKey, ways }) =>
      socket.write(
        post(ask('hostile', `way=${chance.of(ways)}`, { stream: chance.integer(0, 4) > 0 }), apiKey),
      ),
    reads: true,
  },
};

/** How often each is drawn: the upstream has many ways to be hostile. */
const NAMES = [...Object.keys(MISUSES), ...Array<string>(3).fill('hostile upstream')];

/** One misuse after another, until the signal comes. */
export async function hostileClient(chance: Chance, options: HostileOptions): Promise<void> {
  const { signal, tally } = options;
  while (!signal.aborted) {
    const name = chance.of(NAMES);
    const stay = chance.integer(...STAY_MS);
    tally.add(name, await misuse(MISUSES[name]!, stay, chance, options));
    await setTimeout(chance.integer(...PAUSE_MS), undefined, { signal }).catch(() => {});
  }
}

/** Outcome: the status of the first response, and which side ended the connection. */
async function misuse(
  { send, reads }: Misuse,
  stay: number,
  chance: Chance,
  options: HostileOptions,
): Promise<string> {
  const { hostname, port } = new URL(options.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: ADDRESS });
  let status = '';
  const left = new AbortController();
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => resolve('closed by the gateway'));
  });
  socket.on('error', () => {}); // a reset is an end, too
  if (reads) {
    socket.on('data', (data: Buffer) => {
      status ||= /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1', 0, 20))?.[1] ?? '';
    });
  }
  socket.once('connect', () => send(socket, chance, options));
  const end = setTimeout(stay, 'left', { signal: AbortSignal.any([options.signal, left.signal]) });
  const who = await Promise.race([closed, end.catch(() => 'left')]);
  left.abort();
  socket.destroy();
  await closed;
  return status === '' ? who : `${status}, ${who}`;
}
