import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  chatBody,
  mergeTokens,
  ofType,
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
    const [first, all] = [true, false].map((isFirst) =>
      scores.filter((event) => 'pending' in event === isFirst),
    );
    for (const each of [first!, all!])
      expect(each.map(({ index }) => index)).toEqual(tokens.map(({ index }) => index));
    expect(first![0]).toMatchObject({ pass: 'stream', scores: { nll: expect.any(Number) } });
    expect(all![0]).toMatchObject({ pass: 'stream', rival: { text: expect.any(String) } });
    expect(events.at(-1)).toMatchObject({
      type: 'generation.done',
      finish_reason: 'stop',
      usage: { completion_tokens: tokens.length },
    });
  });

  it('says the same as Server-Sent Events do', async () => {
    const events = await run();
    const merged = new Map<unknown, object>();
    for (const { type, response_id: _, offset: __, pass: ___, ...fields } of events) {
      if (type === 'token.delta' || type === 'score.delta')
        merged.set(fields.index, { ...merged.get(fields.index), pending: undefined, ...fields });
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
    const guard = { method: 'adversarial', scoring: { block: 1, window: 'all' } };
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
    [
      'a field of a wrong type',
      create({ request_id: 'r', temperature: 'hot' }),
      'invalid_value',
      'temperature',
    ],
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
});
