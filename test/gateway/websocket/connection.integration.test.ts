import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import {
  chatBody,
  mergeTokens,
  post,
  readChunks,
  type SocketEvent,
  TestSocket,
  token,
  useGateway,
} from '../../support/gateway.js';
import { kill } from '../../support/process.js';
import { LONG_QUESTION } from '../../support/requests.js';

const gateway = useGateway();

const create = (changes: object = {}) => ({ type: 'generation.create', ...chatBody(changes) });
const long = { messages: [{ role: 'user', content: LONG_QUESTION }] };
const ofType = (type: string) => (event: SocketEvent) => event.type === type;
const done = ofType('generation.done');

async function run(changes: object = {}): Promise<SocketEvent[]> {
  const socket = await TestSocket.open(gateway.url);
  socket.send(create(changes));
  await socket.event(done);
  socket.close();
  return socket.events;
}

describe('a generation', () => {
  it('is created, written, scored and done', async () => {
    const events = await run({ request_id: 'q1', guard: { methods: ['adversarial', 'nll'] } });
    expect(events[0]).toMatchObject({
      type: 'generation.created',
      request_id: 'q1',
      model: 'reasoner',
      prompt_tokens: 60,
      guard: { enabled: true, method: 'nll', scoring: { block: 16, window: 32, alpha: 1e-4 } },
    });
    const tokens = events.filter(ofType('token.delta'));
    const scores = events.filter(ofType('score.delta'));
    expect(scores.map(({ index }) => index)).toEqual(tokens.map(({ index }) => index));
    expect(scores[0]).toMatchObject({ pass: 'stream', rival: { text: expect.any(String) } });
    expect(events.at(-1)).toMatchObject({
      type: 'generation.done',
      finish_reason: 'stop',
      usage: { completion_tokens: tokens.length },
    });
  });

  it('takes alpha relative to the embeddings, and says what it comes to', async () => {
    const alpha = 0.01 * (await gateway.engine.checkpoint.embeddingRms());
    const methods = ['adversarial'];
    const relative = await run({ guard: { methods, scoring: { alpha: '0.01rms' } } });
    expect(relative[0]).toMatchObject({ type: 'generation.created', guard: { scoring: { alpha } } });
    const scoresOf = (events: SocketEvent[]) =>
      events.filter(ofType('score.delta')).map(({ scores }) => scores);
    expect(scoresOf(relative)).toEqual(scoresOf(await run({ guard: { methods, scoring: { alpha } } })));
  });

  it('numbers its events without gaps', async () => {
    const events = await run();
    expect(events.map(({ offset }) => offset)).toEqual(events.map((_, i) => i));
    expect(new Set(events.map(({ response_id }) => response_id)).size).toBe(1);
  });

  it('says the same as Server-Sent Events do', async () => {
    const events = await run();
    const merged = new Map<unknown, object>();
    for (const { type, response_id: _, offset: __, pass: ___, ...fields } of events) {
      if (type === 'token.delta' || type === 'score.delta')
        merged.set(fields.index, { ...merged.get(fields.index), ...fields });
    }
    const { chunks } = await readChunks(await post(gateway.url, chatBody({ stream: true })));
    expect(z.array(token).parse([...merged.values()])).toEqual(mergeTokens(chunks));
  });

  it('lists the most probable tokens when asked', async () => {
    const events = await run({ top_logprobs: 2, max_tokens: 1 });
    expect(events.find(ofType('token.delta'))?.top_logprobs).toMatchObject([{ text: 'First' }, {}]);
  });

  it('is cancelled by the client', async () => {
    const socket = await TestSocket.open(gateway.url);
    socket.send(create(long));
    const { response_id } = await socket.event(ofType('token.delta'));
    socket.send({ type: 'generation.cancel', response_id });
    expect(await socket.event(done)).toMatchObject({ response_id, finish_reason: 'cancelled' });
    await gateway.idle();
    expect(done(socket.events.at(-1)!)).toBe(true);
    socket.send({ type: 'generation.cancel', response_id });
    expect((await socket.event(ofType('error'))).error).toMatchObject({
      code: 'unknown_response',
      param: 'response_id',
    });
    socket.close();
  });

  it('is cancelled by closing the connection', async () => {
    const socket = await TestSocket.open(gateway.url);
    socket.send(create(long));
    await socket.event(ofType('token.delta'));
    socket.close();
    await gateway.idle();
  });

  it.each(['decode', 'score'] as const)(
    'ends with an error when the %s process dies; the next works',
    async (role) => {
      const socket = await TestSocket.open(gateway.url);
      socket.send(create({ ...long, guard: { methods: ['adversarial'] } }));
      const { response_id } = await socket.event(ofType('score.delta'));
      kill(gateway.engine.status()[role].pid);
      const failure = await socket.event(ofType('error'));
      expect(failure).toMatchObject({ response_id, error: { code: 'engine_crashed' } });
      expect(failure).toBe(socket.events.at(-1));
      expect(failure.offset).toBe(socket.events.length - 1);
      socket.send(create({ max_tokens: 2 }));
      await socket.event(done);
      socket.close();
    },
  );
});

describe('a connection', () => {
  it('carries several generations at once, up to eight', async () => {
    const socket = await TestSocket.open(gateway.url);
    for (let i = 0; i < 8; i++) socket.send(create({ ...long, request_id: `r${i}` }));
    socket.send(create({ request_id: 'r8' }));
    const refusal = await socket.event(ofType('error'));
    expect(refusal).toMatchObject({ request_id: 'r8', error: { code: 'too_many_generations' } });
    const writing = () =>
      new Set(socket.events.filter(ofType('token.delta')).map((event) => event.response_id)).size;
    await socket.event(() => writing() === 8);
    socket.close();
    await gateway.idle();
  });

  it('does not let a slow guard hold up another generation', async () => {
    const socket = await TestSocket.open(gateway.url);
    const guard = { methods: ['adversarial', 'nll'], scoring: { block: 1, window: 'all' } };
    socket.send(create({ ...long, request_id: 'slow', guard }));
    await socket.event(ofType('token.delta'));
    socket.send(create({ request_id: 'quick', guard: { enabled: false } }));
    const { response_id } = await socket.event((event) => event.request_id === 'quick');
    await socket.event((event) => done(event) && event.response_id === response_id);
    // Were it held with the other, it would keep pace with it: one token of its 53 for one of the other's.
    const slow = socket.events.filter(
      (event) => event.type === 'token.delta' && event.response_id !== response_id,
    );
    expect(slow.length).toBeLessThan(45);
    socket.close();
  });

  it('pauses its generations while the client does not read, and loses nothing', async () => {
    const socket = await TestSocket.open(`http+unix:${await gateway.unixPath()}:`);
    // Little to compute, and much to send.
    const wordy = create({ ...long, top_logprobs: 20, guard: { methods: ['nll'] } });
    for (let i = 0; i < 2; i++) socket.send(wordy);
    await socket.event(ofType('token.delta'));
    socket.pause();
    const reader = await TestSocket.open(gateway.url);
    reader.send(wordy);
    await reader.event(done); // by then they would be over, too, if nothing held them
    reader.close();
    expect(gateway.engine.status().streams).toBe(2);
    socket.resume();
    await expect.poll(() => socket.events.filter(done).length).toBe(2);
    for (const { response_id } of socket.events.filter(done)) {
      const events = socket.events.filter((event) => event.response_id === response_id);
      expect(events.map(({ offset }) => offset)).toEqual(events.map((_, i) => i));
      expect(events.filter(ofType('score.delta')).length).toBeGreaterThan(200);
    }
    socket.close();
  });

  it.each([
    ['what is not JSON', '{', 'invalid_json', null],
    ['what is no object', [1], 'invalid_message', 'type'],
    ['an unknown type', { type: 'generation.stop' }, 'invalid_message', 'type'],
    [
      'a field of a wrong type',
      create({ request_id: 'r', temperature: 'hot' }),
      'invalid_value',
      'temperature',
    ],
    ['an unknown field', create({ strem: true }), 'unknown_parameter', 'strem'],
    ['a field of the HTTP body alone', create({ stream: true }), 'unknown_parameter', 'stream'],
    ['an unknown field of guard', create({ guard: { x: 1 } }), 'unknown_parameter', 'guard.x'],
    ['an unknown model', create({ model: 'other' }), 'model_not_found', 'model'],
  ])('answers %s with an error that names the field, and stays open', async (_name, message, code, param) => {
    const socket = await TestSocket.open(gateway.url);
    socket.send(message);
    const { error } = await socket.event(ofType('error'));
    expect(error).toMatchObject({ code, param });
    socket.send(create({ max_tokens: 1 }));
    await socket.event(done);
    socket.close();
  });

  it('is closed for a binary message and for one over the limit', async () => {
    for (const [message, code] of [
      [new Uint8Array(3), 1003],
      ['x'.repeat((1 << 20) + 1), 1009],
    ] as const) {
      const socket = await TestSocket.open(gateway.url);
      socket.send(message);
      await expect.poll(() => socket.closeCode).toBe(code);
    }
  });

  const refused = (
    path: string,
    protocols: string[],
    headers: Record<string, string> = {},
  ): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}${path}`, protocols, { headers });
      socket.on('error', () => {});
      socket.on('open', () => reject(new Error('it was accepted')));
      socket.on('unexpected-response', (_request, response) => {
        let body = '';
        response
          .on('data', (data) => (body += data))
          .on('end', () => resolve([response.statusCode ?? 0, body]));
      });
    });

  it('needs the subprotocol, the path, and a page of its own origin', async () => {
    expect(await refused('/v1/stream', [])).toEqual([400, expect.stringContaining('Sec-WebSocket-Protocol')]);
    expect(await refused('/v1/stream', ['flinch.v9'])).toEqual([400, expect.stringContaining('flinch.v1')]);
    expect(await refused('/elsewhere', ['flinch.v1'])).toEqual([404, expect.stringContaining('/elsewhere')]);
    const [status, body] = await refused('/v1/stream', ['flinch.v1'], { Origin: 'https://evil.example' });
    expect([status, body]).toEqual([403, expect.stringContaining('Origin')]);
  });
});
