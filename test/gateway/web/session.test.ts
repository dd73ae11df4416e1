import { describe, expect, it } from 'vitest';
import type { ClientMessage, ErrorEvent } from '#gateway/web/protocol.js';
import { Session } from '#gateway/web/session.js';
import { created, done, numbered, token } from './events.js';

function start({ connected = true } = {}) {
  const sent: ClientMessage[] = [];
  const notices: string[] = [];
  const send = (message: ClientMessage) => {
    if (connected) sent.push(message);
    return connected;
  };
  const listener = { changed: () => {}, notice: (words: string) => notices.push(words) };
  const session = new Session(send, () => 0, listener);
  const ask = (question: string, remember = false) => session.ask(question, { model: 'reasoner', remember });
  const receive = (...events: Parameters<Session['receive']>[0][]) => {
    for (const event of events) session.receive(event);
  };
  const phases = () => session.exchanges.map(({ answer }) => answer.phase);
  return { session, sent, notices, ask, receive, phases };
}

const error = (about: Partial<ErrorEvent>): ErrorEvent => ({
  type: 'error',
  response_id: null,
  request_id: null,
  message: 'no',
  code: null,
  ...about,
});

describe('a session', () => {
  it('asks each question alone, without a temperature unless one is chosen', () => {
    const { session, sent, ask, receive } = start();
    ask('What is 2 + 2?');
    receive(...numbered([created(), token(0, '4'), done]));
    session.ask('And 3 + 3?', { model: 'reasoner', remember: false, temperature: 0 });
    expect(sent).toEqual([
      {
        type: 'generation.create',
        request_id: 'page-0',
        model: 'reasoner',
        messages: [{ role: 'user', content: 'What is 2 + 2?' }],
      },
      {
        type: 'generation.create',
        request_id: 'page-1',
        model: 'reasoner',
        messages: [{ role: 'user', content: 'And 3 + 3?' }],
        temperature: 0,
      },
    ]);
  });

  it('sends along the earlier exchanges if it shall, but not failed ones', () => {
    const { sent, ask, receive } = start();
    ask('one');
    receive(...numbered([created(), token(0, '1'), done]));
    ask('two');
    receive(error({ request_id: 'page-1' }));
    ask('three', true);
    expect(sent[2]).toHaveProperty('messages', [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'three' },
    ]);
  });

  it('fails the answer that an error names, by request or by response', () => {
    const { ask, receive, phases, notices } = start();
    ask('one');
    receive(error({ request_id: 'page-0', message: 'refused' }));
    ask('two');
    receive(...numbered([created('page-1')]), error({ response_id: 'gen-1' }));
    expect(phases()).toEqual(['failed', 'failed']);
    receive(error({ message: 'about nothing' }), error({ code: 'unknown_response', response_id: 'gen-0' }));
    expect(notices).toEqual(['about nothing']);
  });

  it('fails at once without a connection', () => {
    const { session, ask, phases } = start({ connected: false });
    ask('one');
    expect(phases()).toEqual(['failed']);
    expect(session.current).toBeNull();
  });

  it('stops an answer, also one that has no id yet', () => {
    const { session, sent, ask, receive } = start();
    ask('one');
    session.stop();
    expect(sent).toHaveLength(1);
    receive(...numbered([created()]));
    expect(sent[1]).toEqual({ type: 'generation.cancel', response_id: 'gen-1' });
  });

  it('cancels an answer that it cannot believe', () => {
    const { sent, ask, receive, phases } = start();
    ask('one');
    receive(...numbered([created(), token(0, 'a'), token(2, 'c'), token(3, 'd')]));
    expect(phases()).toEqual(['failed']);
    expect(sent.slice(1)).toEqual([{ type: 'generation.cancel', response_id: 'gen-1' }]);
  });

  it('fails only the answer under way when the connection is lost', () => {
    const { session, ask, receive, phases } = start();
    ask('one');
    receive(...numbered([created(), done]));
    ask('two');
    session.fail('The connection was lost.');
    expect(phases()).toEqual(['done', 'failed']);
  });
});
