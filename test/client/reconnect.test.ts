import { describe, expect, it } from 'vitest';
import type { ConnectionState } from '#client/client-connection.js';
import type { FlinchError } from '#client/client-errors.js';
import type { GenerationEvent } from '#client/protocol.js';
import { StreamClient } from '#client/stream-client.js';
import { created, FakeServer, numbered, rolledBack } from './fake-server.js';

const request = { model: 'reasoner', messages: [{ role: 'user', content: 'What is 2 + 2?' }] } as const;
const whole = rolledBack();
const recovered = { type: 'generation.resumed', response_id: 'resp-1', recovered: true };

function start({ resumable = true } = {}) {
  const server = new FakeServer();
  const client = new StreamClient(server.openSocket, {
    scheduler: server.scheduler,
    random: () => 0.5,
    requestPrefix: 'request',
  });
  const states: ConnectionState[] = [];
  client.state.subscribe((state) => states.push(state));
  const heard: (GenerationEvent | FlinchError | 'complete')[] = [];
  const subscription = client.generate({ ...request, resumable }).subscribe({
    next: (event) => heard.push(event),
    error: (error: FlinchError) => heard.push(error),
    complete: () => heard.push('complete'),
  });
  /** The next connection, once its time has come. */
  const comeBack = () => {
    const { length } = server.sockets;
    server.advance(15_000);
    expect(server.sockets).toHaveLength(length + 1);
    return server.socket.open();
  };
  return { server, client, states, heard, subscription, comeBack };
}

describe('a lost connection', () => {
  it.each(whole.slice(1).map(({ offset, type }) => [offset, type] as const))(
    'goes on after a cut before event %i, %s',
    (cut) => {
      const { server, heard, comeBack } = start();
      server.socket.open().say(...whole.slice(0, cut));
      server.socket.close(1006);
      const socket = comeBack();
      const resume = { type: 'generation.resume', response_id: 'resp-1', epoch: 'epoch-1', offset: cut };
      expect(socket.received).toEqual([resume]);
      socket.say(recovered, ...whole.slice(cut));
      expect(heard).toEqual([...whole, 'complete']);
    },
  );

  it('drops what comes twice', () => {
    const { server, heard, comeBack } = start();
    server.socket.open().say(...whole.slice(0, 4));
    server.socket.close(1006);
    comeBack().say(recovered, ...whole.slice(1));
    expect(heard).toEqual([...whole, 'complete']);
  });

  it('ends the generation where the rest is lost, here or there', () => {
    const forgotten = start();
    forgotten.server.socket.open().say(...whole.slice(0, 4));
    forgotten.server.socket.close(1006);
    forgotten.comeBack().say({ ...recovered, recovered: false });
    expect(forgotten.heard.slice(4)).toMatchObject([{ code: 'not_recovered', responseId: 'resp-1' }]);

    const gap = start();
    gap.server.socket.open().say(...whole.slice(0, 4));
    gap.server.socket.close(1006);
    gap.comeBack().say(recovered, whole[5]!);
    expect(gap.heard.slice(4)).toMatchObject([{ code: 'events_lost', responseId: 'resp-1' }]);
  });

  it('ends what is not resumable, and nothing that was not asked for yet', () => {
    const asked = start({ resumable: false });
    asked.server.socket.open().close(1012);
    expect(asked.heard).toMatchObject([{ code: 'connection_lost', closeCode: 1012 }]);
    expect(asked.comeBack().received).toEqual([]);

    const refusedByServer = start();
    refusedByServer.server.socket.open().say(...numbered([created('request-0', { resumable: false })]));
    refusedByServer.server.socket.close(1006);
    expect(refusedByServer.heard.slice(1)).toMatchObject([{ code: 'connection_lost' }]);

    const unasked = start({ resumable: false });
    unasked.server.socket.close(1006);
    expect(unasked.comeBack().received).toHaveLength(1);
    expect(unasked.heard).toEqual([]);
  });

  it('asks again where no answer came', () => {
    const { server, heard, comeBack } = start();
    server.socket.open().close(1006);
    const socket = comeBack();
    expect(socket.received).toMatchObject([{ type: 'generation.create', request_id: 'request-0' }]);
    socket.say(...whole);
    expect(heard).toEqual([...whole, 'complete']);
  });

  it('asks again by the same name, but only so often', () => {
    const { server, heard, comeBack } = start();
    server.socket.open();
    for (let again = 1; again <= 5; again++) {
      server.socket.close(1006);
      expect(comeBack().received).toMatchObject([{ type: 'generation.create', request_id: 'request-0' }]);
    }
    expect(heard).toEqual([]);
    server.socket.close(1006);
    expect(comeBack().received).toEqual([]);
    expect(heard).toMatchObject([{ code: 'connection_lost' }]);
  });

  it('cancels afterwards what nobody waits for any more', () => {
    const { server, subscription, comeBack } = start();
    server.socket.open().say(...whole.slice(0, 4));
    server.socket.close(1006);
    subscription.unsubscribe();
    const socket = comeBack();
    socket.say(recovered);
    expect(socket.received.slice(1)).toEqual([{ type: 'generation.cancel', response_id: 'resp-1' }]);
  });

  it('hears nothing more of a connection that it has left', () => {
    const { server, heard, comeBack } = start();
    const old = server.socket.open();
    old.say(...whole.slice(0, 4));
    server.advance(45_000);
    expect(old.closedWith).toBe(4900);
    const socket = comeBack();
    old.say(whole[4]!);
    old.close(1008);
    expect(heard).toHaveLength(4);
    socket.say(recovered, ...whole.slice(4));
    expect(heard).toEqual([...whole, 'complete']);
  });

  it('is one that is silent for too long; heartbeats are no silence', () => {
    const { server, states } = start();
    server.socket.open();
    for (let i = 0; i < 5; i++) {
      server.advance(44_000);
      server.socket.say({ type: 'heartbeat' });
    }
    expect(server.sockets).toHaveLength(1);
    server.advance(45_001);
    expect(states.at(-1)).toMatchObject({ status: 'waiting', error: { code: 'connection_lost' } });
  });

  it('gives a generation up after a while without a connection', () => {
    const { server, heard } = start();
    server.socket.open().say(...whole.slice(0, 4));
    server.socket.close(1006);
    // The tries hang: none is refused, none opens.
    server.advance(59_999);
    expect(heard).toHaveLength(4);
    server.advance(1);
    expect(heard.slice(4)).toMatchObject([{ code: 'connection_lost', responseId: 'resp-1' }]);
  });
});

describe('coming back', () => {
  it('waits a random part of a bound that doubles up to a limit, and begins anew after a message', () => {
    const { server, states } = start();
    const waits = () => states.flatMap((state) => (state.status === 'waiting' ? [state.retryMs] : []));
    for (let i = 0; i < 8; i++) {
      server.socket.close(1006);
      server.advance(waits().at(-1)!);
    }
    expect(waits()).toEqual([250, 500, 1000, 2000, 4000, 7500, 7500, 7500]);
    server.socket.open().close(1013); // to be let in and turned away at once is no success
    server.advance(7500);
    server.socket.open().say({ type: 'heartbeat' });
    server.socket.close(1006);
    expect(waits().slice(8)).toEqual([7500, 250]);
  });

  it('does not wait where it is asked to connect', () => {
    const { server, client } = start();
    server.socket.close(1006);
    client.connect();
    client.connect();
    expect(server.sockets).toHaveLength(2);
    server.advance(10_000);
    expect(server.sockets).toHaveLength(2);
  });

  it.each([1001, 1005, 1006, 1011, 1012, 1013, 4000, 4001, 4499])('happens after %i', (code) => {
    const { server, states } = start();
    server.socket.open().close(code);
    expect(states.map(({ status }) => status)).toEqual(['idle', 'connecting', 'open', 'waiting']);
  });

  it.each([1000, 1002, 1003, 1007, 1008, 1009, 1010, 4500, 4501, 4999])(
    'does not happen after %i',
    (code) => {
      const { server, states, heard, client } = start();
      server.socket.open().say(whole[0]!);
      server.socket.close(code, 'enough');
      const error = { code: 'connection_closed', closeCode: code };
      expect(states.at(-1)).toMatchObject({ status: 'closed', error });
      expect(heard.slice(1)).toMatchObject([error]);
      server.advance(3_600_000);
      expect(server.sockets).toHaveLength(1);
      client.connect(); // by hand it does
      expect(server.sockets).toHaveLength(2);
    },
  );

  it('does not happen after what the protocol does not allow', () => {
    const { server, states } = start();
    server.socket.open().sayText(null);
    expect(server.socket.closedWith).toBe(1000);
    expect(states.at(-1)).toMatchObject({ status: 'closed', error: { code: 'protocol_error' } });
  });
});

describe('a generation that another client has left', () => {
  it('goes on after the last event that is there, over a lost connection too', () => {
    const first = start();
    first.server.socket.open().say(...whole.slice(0, 4));
    first.client.detach();
    expect(first.server.socket.closedWith).toBe(4901);
    expect(first.server.socket.received).toHaveLength(1); // no cancel

    const { server, client } = start();
    server.socket.open();
    const heard: unknown[] = [];
    client
      .resume({ responseId: 'resp-1', epoch: 'epoch-1', offset: 4 })
      .subscribe({ next: (event) => heard.push(event), complete: () => heard.push('complete') });
    const resume = { type: 'generation.resume', response_id: 'resp-1', epoch: 'epoch-1', offset: 4 };
    expect(server.socket.received.at(-1)).toEqual(resume);
    server.socket.say(recovered, ...whole.slice(4, 5));
    server.socket.close(1006);
    server.advance(15_000);
    server.socket.open().say(recovered, ...whole.slice(5));
    expect(server.socket.received).toContainEqual({ ...resume, offset: 5 });
    expect(heard).toEqual([...whole.slice(4), 'complete']);
  });

  it('fails where the server no longer has it, and can be cancelled', () => {
    const { server, client } = start();
    server.socket.open();
    const place = { responseId: 'resp-1', epoch: 'epoch-1', offset: 4 };
    const errors: FlinchError[] = [];
    client.resume(place).subscribe({ error: (error: FlinchError) => errors.push(error) });
    server.socket.say({ ...recovered, recovered: false });
    expect(errors).toMatchObject([{ code: 'not_recovered', responseId: 'resp-1' }]);

    client.resume(place).subscribe().unsubscribe();
    expect(server.socket.received.at(-1)).toEqual({ type: 'generation.cancel', response_id: 'resp-1' });
  });
});
