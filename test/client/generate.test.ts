import { describe, expect, it } from 'vitest';
import type { FlinchError } from '#client/client-errors.js';
import type { GenerationEvent } from '#client/protocol.js';
import { StreamClient } from '#client/stream-client.js';
import { created, done, FakeServer, numbered, token } from './fake-server.js';

const request = { model: 'reasoner', messages: [{ role: 'user', content: 'What is 2 + 2?' }] } as const;
const whole = numbered([created(), token(0, 'So'), token(1, ' 4'), done]);

function start() {
  const server = new FakeServer();
  const client = new StreamClient(server.openSocket, {
    scheduler: server.scheduler,
    random: () => 0.5,
    requestPrefix: 'request',
  });
  const generate = (changes: object = {}) => {
    const heard: (GenerationEvent | FlinchError | 'complete')[] = [];
    const subscription = client.generate({ ...request, ...changes }).subscribe({
      next: (event) => heard.push(event),
      error: (error: FlinchError) => heard.push(error),
      complete: () => heard.push('complete'),
    });
    return { heard, subscription };
  };
  return { server, client, generate };
}

describe('a generation', () => {
  it('is started by each subscription, and asked for once there is a connection', () => {
    const { server, client, generate } = start();
    client.generate(request);
    expect(server.sockets).toHaveLength(0);
    generate();
    expect(server.socket.received).toEqual([]);
    server.socket.open();
    generate({ temperature: 0 });
    expect(server.sockets).toHaveLength(1);
    const asked = { type: 'generation.create', ...request, resumable: true };
    expect(server.socket.received).toEqual([
      { ...asked, request_id: 'request-0' },
      { ...asked, request_id: 'request-1', temperature: 0 },
    ]);
  });

  it('has a name that no other client gives', () => {
    const server = new FakeServer();
    for (let i = 0; i < 2; i++) {
      const client = new StreamClient(server.openSocket, { scheduler: server.scheduler });
      client.generate(request).subscribe();
      server.socket.open();
    }
    const names = server.sockets.map(({ received }) => Object(received[0]).request_id);
    expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{32}-0$/), expect.stringMatching(/-0$/)]);
    expect(names[0]).not.toBe(names[1]);
  });

  it('emits its own events and completes, whatever runs beside it', () => {
    const { server, generate } = start();
    const one = generate();
    const two = generate();
    server.socket.open();
    const others = numbered([created('request-1'), token(0, 'No')], 'resp-2');
    server.socket.say(whole[0]!, others[0]!, whole[1]!, others[1]!, { type: 'heartbeat' }, ...whole.slice(2));
    expect(one.heard).toEqual([...whole, 'complete']);
    expect(two.heard).toEqual(others);
  });

  it('waits for its turn while as many run as the server takes', () => {
    const { server, client, generate } = start();
    const all = Array.from({ length: 10 }, () => generate());
    const asked = () =>
      server.socket.received.flatMap((message) => {
        const { type, request_id } = Object(message);
        return type === 'generation.create' ? [request_id] : [];
      });
    const first = Array.from({ length: 8 }, (_, i) => `request-${i}`);
    server.socket.open();
    expect(asked()).toEqual(first);
    server.advance(40_000);
    server.socket.say({ type: 'heartbeat' });
    server.advance(40_000); // it is for a connection that patience ends
    expect(all.map(({ heard }) => heard)).toEqual(all.map(() => []));

    all[8]?.subscription.unsubscribe(); // was never asked for
    server.socket.say(...whole);
    expect(all[0]?.heard.at(-1)).toBe('complete');
    expect(asked()).toEqual([...first, 'request-9']);

    const late = generate();
    server.socket.close(1006);
    server.advance(15_000);
    server.socket.open();
    expect(asked()).toEqual([...first.slice(1), 'request-9']);
    expect(late.heard).toEqual([]);
    client.close();
    for (const { heard } of [late, ...all.slice(1, 8)]) {
      expect(heard).toMatchObject([{ code: 'client_closed' }]);
    }
    expect(asked()).toHaveLength(8);
  });

  it('is cancelled by unsubscribing, as soon as it has an id', () => {
    const { server, generate } = start();
    const running = generate();
    const unnamed = generate();
    const unasked = generate();
    unasked.subscription.unsubscribe();
    server.socket.open();
    expect(server.socket.received).toHaveLength(2);
    unnamed.subscription.unsubscribe();
    server.socket.say(whole[0]!);
    running.subscription.unsubscribe();
    server.socket.say(...numbered([created('request-1')], 'resp-2'));
    expect(server.socket.received.slice(2)).toEqual([
      { type: 'generation.cancel', response_id: 'resp-1' },
      { type: 'generation.cancel', response_id: 'resp-2' },
    ]);
  });

  it('sends no cancel for what is over', () => {
    const { server, generate } = start();
    const { subscription } = generate();
    server.socket.open().say(...whole);
    subscription.unsubscribe();
    expect(server.socket.received).toHaveLength(1);
  });

  it('fails with what the server says of its request or of itself', () => {
    const { server, generate } = start();
    const refused = generate();
    const failed = generate();
    server.socket.open();
    const error = { message: 'no slot', type: 'server_error', param: 'model', code: 'overloaded' };
    server.socket.say({ type: 'error', request_id: 'request-0', error });
    server.socket.say(...numbered([created('request-1')]), { type: 'error', response_id: 'resp-1', error });
    const expected = { code: 'overloaded', message: 'no slot', param: 'model' };
    expect(refused.heard).toMatchObject([{ ...expected, responseId: null }]);
    expect(failed.heard.slice(1)).toMatchObject([{ ...expected, responseId: 'resp-1' }]);
  });

  it('leaves errors that concern none to `errors`, without cancels that came late', () => {
    const { server, client, generate } = start();
    const errors: FlinchError[] = [];
    client.errors.subscribe((error) => errors.push(error));
    const { heard } = generate();
    server.socket.open();
    const body = { message: 'no', type: 'invalid_request_error', param: null };
    server.socket.say({ type: 'error', error: { ...body, code: 'invalid_message' } });
    server.socket.say({ type: 'error', error: { ...body, code: 'unknown_response' } });
    expect(errors.map(({ code }) => code)).toEqual(['invalid_message']);
    expect(heard).toEqual([]);
  });

  it.each([
    ['an event is missing', whole.toSpliced(2, 1), 'events_lost'],
    ['an event is malformed', [whole[0]!, { ...whole[1]!, text: 7 }], 'protocol_error'],
  ])('fails and is cancelled when %s', (_, events, code) => {
    const { server, generate } = start();
    const { heard } = generate();
    server.socket.open().say(...events);
    expect(heard.at(-1)).toMatchObject({ name: 'FlinchError', code });
    const cancel = { type: 'generation.cancel', response_id: 'resp-1' };
    if (code === 'events_lost') expect(server.socket.received.at(-1)).toEqual(cancel);
    else expect(server.socket.closedWith).toBe(1000); // which cancels all
  });

  it('passes over events that a newer server knows, and messages that have no place', () => {
    const { server, generate } = start();
    const { heard } = generate();
    server.socket.open();
    const newer = { type: 'step.new', response_id: 'resp-1', offset: 1, more: 1 };
    const rest = whole.slice(1).map((event) => ({ ...event, offset: event.offset + 1 }));
    server.socket.say(whole[0]!, newer, { type: 'server.new' }, ...rest);
    expect(heard).toEqual([whole[0], ...rest, 'complete']);
  });

  it('ends with the client', () => {
    const { server, client, generate } = start();
    const { heard } = generate();
    server.socket.open().say(whole[0]!);
    client.close();
    expect(server.socket.closedWith).toBe(1000);
    expect(heard.slice(1)).toMatchObject([{ code: 'client_closed' }]);
    expect(generate().heard).toMatchObject([{ code: 'client_closed' }]);
    expect(() => client.connect()).toThrow('closed');
  });
});
