import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { post, TestSocket } from '../../support/gateway.js';
import { converse, exchange, frame, type Heard, handshake, OPCODE } from '../../support/raw.js';
import { startTestGateway, type TestGateway, useTestGateway } from '../../support/waiting-gateway.js';
import { ask } from '../../support/waiting-model.js';

/** Is in whatever a client can choose here, and must be in nothing that is kept. */
const SECRET = 'sekret';
const MESSAGE_BYTES = 32 << 10;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    limits: { body_bytes: MESSAGE_BYTES },
    bounds: { messagesPerSecond: 20 },
  });
});
afterAll(() => gateway.close());

afterEach(async () => {
  const response = await post(gateway.url, ask(SECRET));
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hello there' } }] });
  const socket = await TestSocket.open(gateway.url);
  socket.send({ type: 'generation.create', ...ask(SECRET) });
  await socket.event(({ type }) => type === 'generation.done');
  socket.close();
});

const KEY = 'Sec-WebSocket-Key';
const VERSION = 'Sec-WebSocket-Version';
const PROTOCOL = 'Sec-WebSocket-Protocol';

type Handshake = [what: string, answer: string, handshake: Buffer];
const handshakes: Handshake[] = [
  ['no version', '426 invalid_value', handshake({ [VERSION]: null })],
  [
    'version 8, whose Origin has another name',
    '426 invalid_value',
    handshake({ [VERSION]: '8', 'Sec-WebSocket-Origin': 'null' }),
  ],
  ['a version that never was', '426 invalid_value', handshake({ [VERSION]: '13, 8' })],
  ['no key', '400 invalid_http', handshake({ [KEY]: null })],
  ['a key that is none', '400 invalid_http', handshake({ [KEY]: SECRET })],
  ['no subprotocol', '400 invalid_value', handshake({ [PROTOCOL]: null })],
  ['another subprotocol', '400 invalid_value', handshake({ [PROTOCOL]: SECRET })],
  ['a list of subprotocols that is none', '400 invalid_http', handshake({ [PROTOCOL]: 'flinch.v1,,' })],
  ['another method', '400 invalid_http', handshake({}, 'POST /v1/stream')],
  ['another protocol', '404 not_found', handshake({ Upgrade: 'h2c', Connection: 'Upgrade, close' })],
  ['another path', '404 not_found', handshake({}, `GET /${SECRET}`)],
  ['a path around', '404 not_found', handshake({}, 'GET /v1/x/../stream')],
  ['a path with a zero byte', '404 not_found', handshake({}, 'GET /v1/stream%00')],
  ...['1.0', '2.0'].map(
    (version): Handshake => [
      `HTTP/${version}`,
      '400 invalid_http',
      Buffer.from(handshake().toString('latin1').replace('HTTP/1.1', `HTTP/${version}`)),
    ],
  ),
  ['a whole address', '400 invalid_http', handshake({}, `GET http://${SECRET}.example/v1/stream`)],
  ['a Host of another site', '421 host_not_allowed', handshake({ Host: `${SECRET}.example` })],
  ['two Hosts', '400 invalid_http', handshake({ Host: `localhost\r\nHost: ${SECRET}.example` })],
  ['an Origin of another site', '403 origin_not_allowed', handshake({ Origin: `https://${SECRET}.example` })],
  ['no Origin to speak of', '403 origin_not_allowed', handshake({ Origin: 'null' })],
  ['a ticket that is none', '401 invalid_ticket', handshake({}, `GET /v1/stream?ticket=${SECRET}`)],
];

describe('a hostile handshake', () => {
  it.each(handshakes)('%s: %s', async (_what, answer, head) => {
    const text = await exchange(gateway.url, head);
    expect(`${/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]} ${/"code":"(\w+)"/.exec(text)?.[1]}`).toBe(answer);
    expect(text).toMatch(/^X-Request-Id: /m);
    if (answer.startsWith('426')) expect(text).toContain(`${VERSION}: 13\r\n`);
  });

  it.each(['permessage-deflate', 'permessage-deflate; server_max_window_bits=99', `${SECRET}; ,;=`])(
    'gets no extension: %s',
    async (offer) => {
      const bye = frame(OPCODE.close, Buffer.from([0x03, 0xe8]));
      const text = await exchange(gateway.url, handshake({ 'Sec-WebSocket-Extensions': offer }), bye);
      expect(text).toContain('101 Switching Protocols');
      expect(text).not.toMatch(/^Sec-WebSocket-Extensions/im);
    },
  );
});

const text = (payload: string | Uint8Array) => frame(OPCODE.text, payload);
const closing = (...bytes: number[]) => frame(OPCODE.close, Buffer.from(bytes));
const endless = (count: number, each: Buffer) => Buffer.concat(Array.from({ length: count }, () => each));

const frames: [what: string, closeCode: number, ...frames: Buffer[]][] = [
  ['without a mask', 1002, frame(OPCODE.text, '{}', { masked: false })],
  ['that says it is compressed', 1002, frame(OPCODE.text, '{}', { reserved: 4 })],
  ['of reserved data', 1002, frame(3, SECRET)],
  ['of binary data', 1003, frame(OPCODE.binary, SECRET)],
  ['of bytes that are no UTF-8', 1007, text(Buffer.from([0x22, 0xff, 0xfe, 0x22]))],
  ['that is too large', 1009, text('x'.repeat(MESSAGE_BYTES + 1))],
  ['that says it is far too large', 1009, frame(OPCODE.text, '', { length: 1n << 40n })],
  [
    'of which the parts are too large',
    1009,
    frame(OPCODE.text, 'x'.repeat(20_000), { fin: false }),
    frame(OPCODE.continuation, 'x'.repeat(20_000)),
  ],
  [
    'of very many parts',
    1008,
    frame(OPCODE.text, '', { fin: false }),
    endless(2000, frame(OPCODE.continuation, '', { fin: false })),
  ],
  ['that goes on with nothing', 1002, frame(OPCODE.continuation, SECRET)],
  ['within another', 1002, frame(OPCODE.text, '{', { fin: false }), text('{}')],
  ['of control in parts', 1002, frame(OPCODE.ping, SECRET, { fin: false })],
  ['of control that is too large', 1002, frame(OPCODE.ping, 'x'.repeat(126))],
  ['that closes with half a code', 1002, closing(3)],
  ['that closes with a code that may not be sent', 1002, closing(0x03, 0xed)],
  ['that closes with a reason that is no UTF-8', 1007, closing(0x03, 0xe8, 0xff)],
  ['that closes', 1000, closing(0x03, 0xe8)],
  ['after frame, of messages', 4500, endless(30, text('{}'))],
  ['after frame, of pings', 4500, endless(30, frame(OPCODE.ping, 'x'))],
];

describe('a hostile frame', () => {
  it.each(frames)('%s: %d', async (_what, closeCode, ...sent) => {
    expect(await converse(gateway.url, ...sent)).toMatchObject({ closeCode });
  });

  it('that does not end: the connection does, for there is no answer to pings behind it', async () => {
    const impatient = await useTestGateway({ bounds: { heartbeatMs: 50 } });
    const { closeCode } = await converse(impatient.url, frame(OPCODE.text, '{"type":', { length: 1000n }));
    expect([null, 4001]).toContain(closeCode);
  });
});

const createWith = (fields: string): string =>
  JSON.stringify({ type: 'generation.create', ...ask(SECRET) }).replace(/\}$/, `,${fields}}`);
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const messages: [what: string, code: string, param: string | null, message: string][] = [
  ['nothing', 'invalid_json', null, ''],
  ['a byte order mark', 'invalid_json', null, `\uFEFF${createWith('"n":1')}`],
  ['null', 'invalid_message', 'type', 'null'],
  ['a list', 'invalid_message', 'type', `["${SECRET}"]`],
  ['deep nesting', 'invalid_message', 'type', nested(900)],
  ['nesting that is too deep', 'invalid_json', null, nested(15_000)],
  ['nesting that is not closed', 'invalid_json', null, '['.repeat(30_000)],
  ['no type', 'invalid_message', 'type', '{}'],
  ['a type of the prototype', 'invalid_message', 'type', '{"type":"__proto__"}'],
  ['a type by inheritance', 'invalid_message', 'type', '{"__proto__":{"type":"generation.create"}}'],
  ['a model that is none', 'invalid_value', 'model', createWith('"model":{"toString":1,"valueOf":1}')],
  ['a number beyond all', 'invalid_value', 'temperature', createWith('"temperature":1e999')],
  ['deep nesting in a field', 'invalid_value', 'stop', createWith(`"stop":${nested(900)}`)],
  [
    'a long name for itself',
    'invalid_value',
    'request_id',
    createWith(`"request_id":"${SECRET.repeat(40)}"`),
  ],
  [
    'a cancelling of what never was',
    'unknown_response',
    'response_id',
    '{"type":"generation.cancel","response_id":"__proto__"}',
  ],
];

const errorsOf = ({ messages: heard }: Heard) =>
  heard.filter((event) => JSON.stringify(event).includes('"type":"error"'));

describe('a hostile message', () => {
  it.each(messages)('%s: %s', async (_what, code, param, message) => {
    const heard = await converse(gateway.url, text(message), closing(0x03, 0xe8));
    expect(errorsOf(heard)).toMatchObject([{ error: { code, param } }]);
    expect(heard.closeCode).toBe(1000);
  });

  it('that takes a name which is taken starts another generation, which has its own', async () => {
    const socket = await TestSocket.open(gateway.url);
    for (let i = 0; i < 2; i++) socket.send(createWith('"request_id":"same"'));
    const done = () => socket.events.filter(({ type }) => type === 'generation.done');
    await expect.poll(() => done().length).toBe(2);
    expect(new Set(done().map(({ response_id }) => response_id)).size).toBe(2);
    socket.close();
  });

  it('that resumes what never was: nothing is recovered', async () => {
    const resume = { type: 'generation.resume', response_id: '__proto__', epoch: SECRET, offset: 0 };
    const heard = await converse(gateway.url, text(JSON.stringify(resume)), closing(0x03, 0xe8));
    expect(heard.messages).toMatchObject([{ type: 'generation.resumed', recovered: false }]);
  });
});

describe('what is kept of hostile connections', () => {
  it('has nothing in it that a client chose', async () => {
    const metrics = await (await fetch(gateway.metricsUrl)).text();
    expect(gateway.log.length).toBeGreaterThan(frames.length);
    for (const kept of [...gateway.log, metrics]) expect(kept.toLowerCase()).not.toContain(SECRET);
    await expect.poll(() => gateway.live.size).toBe(0);
  });
});
