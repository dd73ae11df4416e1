import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Far longer than any answer takes: what is still open then hangs. */
const TIMEOUT_MS = 20_000;

export type Bytes = string | Uint8Array;

const toBuffer = (bytes: Bytes): Buffer =>
  typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes);

/** Sends bytes as they are (texts as Latin-1) and returns what came back until the other side closed, by Latin-1. */
export async function exchange(url: string, ...parts: readonly Bytes[]): Promise<string> {
  const socket = open(url);
  const answer = read(socket);
  for (const part of parts) {
    if (!socket.writable) break;
    socket.write(toBuffer(part));
  }
  return (await answer).toString('latin1');
}

function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => {}); // a reset is an end, too
  return socket;
}

async function read(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    socket.destroy();
  }, TIMEOUT_MS);
  await Promise.race([once(socket, 'end'), once(socket, 'close')]);
  clearTimeout(timer);
  socket.destroy();
  if (hung) throw new Error(`the connection stayed open; it said ${Buffer.concat(chunks)}`);
  return Buffer.concat(chunks);
}

/** A request after which the server closes; headers replace the usual ones, or leave them out with `null`. */
export function request(line: string, headers: Record<string, string | null> = {}, body: Bytes = ''): Buffer {
  const fields = Object.entries({ Host: 'localhost', Connection: 'close', ...headers })
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([toBuffer(`${line} HTTP/1.1\r\n${fields.join('')}\r\n`), toBuffer(body)]);
}

/** `POST /v1/chat/completions` with a body of its length. */
export function chatRequest(body: Bytes, headers: Record<string, string | null> = {}): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
  const usual = { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length) };
  return request('POST /v1/chat/completions', { ...usual, ...headers }, bytes);
}

export interface FrameOptions {
  readonly fin?: boolean;
  /** Three bits, of which the first is 4. */
  readonly reserved?: number;
  readonly masked?: boolean;
  /** Length in the header, in place of the true one. */
  readonly length?: bigint;
}

/** A frame of a WebSocket as a client sends it, or should not (RFC 6455, 5.2). */
export function frame(opcode: number, payload: Bytes = '', options: FrameOptions = {}): Buffer {
  const { fin = true, reserved = 0, masked = true } = options;
  const data = typeof payload === 'string' ? Buffer.from(payload) : Buffer.from(payload);
  const length = options.length ?? BigInt(data.length);
  const mask = Buffer.from([7, 77, 177, 217]);
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  head[1] = (masked ? 0x80 : 0) | (length < 126 ? Number(length) : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(Number(length), 2);
  if (head.length === 10) head.writeBigUInt64BE(length, 2);
  const body = masked ? Buffer.concat([mask, data.map((byte, i) => byte ^ mask[i % 4]!)]) : data;
  return Buffer.concat([head, body]);
}

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The head of a handshake that is as it should be, but for the headers given. */
export const handshake = (headers: Record<string, string | null> = {}, line = 'GET /v1/stream'): Buffer =>
  request(line, {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Protocol': 'flinch.v1',
    ...headers,
  });

export interface Heard {
  readonly head: string;
  /** Messages, parsed. */
  readonly messages: readonly unknown[];
  /** `null` if the connection just ended. */
  readonly closeCode: number | null;
}

/** Connects, sends frames and listens until the server closes. */
export async function converse(url: string, ...frames: readonly Buffer[]): Promise<Heard> {
  const socket = open(url);
  const answer = read(socket);
  socket.write(Buffer.concat([handshake(), ...frames]));
  return parseHeard(await answer);
}

function parseHeard(bytes: Buffer): Heard {
  const start = bytes.indexOf('\r\n\r\n') + 4;
  const messages: unknown[] = [];
  let closeCode: number | null = null;
  for (let at = start; at + 2 <= bytes.length; ) {
    const opcode = bytes[at]! & 0x0f;
    const short = bytes[at + 1]!;
    const from = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    const length =
      short < 126
        ? short
        : short === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2));
    const payload = bytes.subarray(from, from + length);
    if (opcode === OPCODE.text) messages.push(JSON.parse(payload.toString()));
    if (opcode === OPCODE.close) closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    at = from + length;
  }
  return { head: bytes.subarray(0, start).toString('latin1'), messages, closeCode };
}
