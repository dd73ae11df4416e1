import { EMPTY, from, NEVER, type Observable, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { FlinchError } from '#client/client-errors.js';
import type { GenerationRequest } from '#client/client-request.js';
import type { GenerationEvent } from '#client/protocol.js';
import type { ResumePoint } from '#client/requests.js';
import { recordingOf, Session, tokensPerSecond } from '#web/chats/session.js';
import { created, done, numbered, token } from '../client/fake-server.js';

const whole = numbered([created(), token(0, 'So'), token(1, ' 4'), done]);

function start(answers: () => Observable<GenerationEvent> = () => new Subject()) {
  const asked: GenerationRequest[] = [];
  const places: ResumePoint[] = [];
  let now = 0;
  const session = new Session({
    generate: (request) => {
      asked.push(request);
      return answers();
    },
    resume: (place) => {
      places.push(place);
      return answers();
    },
    nowMs: () => now,
    changed: () => {},
  });
  const ask = (question: string, turn = question) =>
    session.ask(question, { model: 'reasoner', guard: { rate: 0.02 } }, turn);
  const phases = () => session.exchanges.map(({ answer }) => answer.phase);
  const wait = (ms: number) => {
    now += ms;
  };
  return { session, asked, places, ask, phases, wait };
}

describe('a session', () => {
  it('asks without a temperature unless one is chosen', () => {
    const { session, asked, ask } = start();
    ask('What is 2 + 2?');
    session.ask('And 3 + 3?', { model: 'reasoner', guard: {}, temperature: 0 }, 'b');
    expect(asked).toEqual([
      {
        model: 'reasoner',
        messages: [{ role: 'user', content: 'What is 2 + 2?' }],
        guard: { rate: 0.02 },
        top_logprobs: 5,
        clamp: true,
      },
      {
        model: 'reasoner',
        messages: [{ role: 'user', content: 'And 3 + 3?' }],
        guard: {},
        top_logprobs: 5,
        clamp: true,
        temperature: 0,
      },
    ]);
  });

  it('sends the system prompt first, and asks for no more alternatives than there are', () => {
    const { session, asked } = start();
    session.ask('What is 2 + 2?', { model: 'm', guard: {}, system: 'Be brief.', topLogprobs: 1 }, 'a');
    expect(asked[0]).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is 2 + 2?' },
      ],
      top_logprobs: 1,
    });
  });

  it('shows the answer that was asked for last, whatever scores follow another one', () => {
    const streams: Subject<GenerationEvent>[] = [];
    const { session, ask } = start(() => {
      streams.push(new Subject());
      return streams.at(-1)!;
    });
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    const textDone = { type: 'text.done', finish_reason: 'stop', usage } as const;
    const pending = { type: 'score.delta', index: 0, pass: 'stream', scores: { nll: 1 } } as const;
    const events = numbered([created(), token(0, 'So'), textDone, pending, done]);
    ask('What is 2 + 2?', 'a');
    for (const event of events.slice(0, 3)) streams[0]!.next(event);
    expect(session.current).toBeNull();
    ask('What is 2 + 2?', 'a'); // while scores of the first are to come
    streams[0]!.next(events[3]!);
    const [turn] = session.turns;
    expect(turn?.variants.map(({ answer }) => answer.phase)).toEqual(['scoring', 'waiting']);
    expect(turn?.shown).toBe(turn?.variants[1]);
    expect(turn?.variants[0]?.answer.tokens[0]?.scores).toEqual({ nll: 1 });

    session.remove('a');
    streams[0]!.next(events[4]!);
    expect(session.turns).toEqual([]);
    expect(streams[0]!.observed).toBe(false);
  });

  it('forgets all for a new chat, and cancels what is being written', () => {
    const events = new Subject<GenerationEvent>();
    const { session, asked, ask } = start(() => events);
    ask('one');
    const [before] = session.exchanges;
    session.clear();
    expect(events.observed).toBe(false);
    expect([session.exchanges, session.current]).toEqual([[], null]);
    ask('two');
    expect(asked[1]?.messages).toEqual([{ role: 'user', content: 'two' }]);
    expect(session.exchanges[0]?.id).not.toBe(before?.id);
  });

  it('tells the earlier exchanges, but not failed ones', () => {
    const events = new Subject<GenerationEvent>();
    const replies = [events, throwError(() => new FlinchError('overloaded', 'no'))];
    const { asked, ask, phases } = start(() => replies.shift() ?? EMPTY);
    ask('one');
    for (const event of whole) events.next(event);
    ask('two');
    expect(phases()).toEqual(['done', 'failed']);
    ask('three');
    expect(asked[2]).toHaveProperty('messages', [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'So 4' },
      { role: 'user', content: 'three' },
    ]);
  });

  it('asks again in place: without the earlier answer, which stays a variant', () => {
    const { session, asked, ask } = start(() => from(whole));
    for (const question of ['one', 'two', 'three']) ask(question);
    ask('two', 'two');
    const before = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'So 4' },
    ];
    expect(asked[3]?.messages).toEqual([...before, { role: 'user', content: 'two' }]);
    ask('Two?', 'two');
    expect(asked[4]?.messages).toEqual([...before, { role: 'user', content: 'Two?' }]);
    expect(session.exchanges.map(({ question }) => question)).toEqual(['one', 'Two?', 'three']);
    expect(session.turns.map(({ variants }) => variants.length)).toEqual([1, 3, 1]);

    session.show(session.turns[1]!.variants[0]!);
    session.remove('three');
    ask('four');
    expect(asked[5]!.messages!.map(({ content }) => content)).toEqual(['one', 'So 4', 'two', 'So 4', 'four']);
  });

  it('keeps no attempt without a token as a variant', () => {
    const replies = [throwError(() => new FlinchError('overloaded', 'no')), from(whole)];
    const { session, ask } = start(() => replies.shift() ?? EMPTY);
    ask('one');
    ask('one');
    expect(session.turns.map(({ variants }) => variants.length)).toEqual([1]);
  });

  it('leaves the oldest exchanges out, until the context has room', () => {
    const room = { messages: 100 };
    const { session, asked, ask } = start();
    const full = start(() => {
      const fits = full.asked.at(-1)!.messages!.length <= room.messages;
      return fits ? from(whole) : throwError(() => new FlinchError('context_length_exceeded', 'too long'));
    });
    for (let i = 0; i < 6; i++) full.ask(`${i}`);
    room.messages = 7;
    full.ask('last');
    const contents = full.asked.at(-1)!.messages!.map(({ content }) => content);
    expect(contents).toEqual(['3', 'So 4', '4', 'So 4', '5', 'So 4', 'last']);
    expect(full.session.exchanges.at(-1)).toMatchObject({ leftOut: 3, answer: { phase: 'done' } });
    room.messages = 0;
    full.ask('too long by itself');
    expect(full.session.exchanges.at(-1)).toMatchObject({ leftOut: 7, answer: { phase: 'failed' } });
    expect(full.asked.at(-1)!.messages).toHaveLength(1);
    ask('one');
    expect([session.exchanges[0]?.leftOut, asked.length]).toEqual([0, 1]);
  });

  it('stops an answer, which stays as it stands', () => {
    const events = new Subject<GenerationEvent>();
    const { session, ask } = start(() => events);
    ask('one');
    for (const event of whole.slice(0, 2)) events.next(event);
    session.stop();
    expect(events.observed).toBe(false);
    const [exchange] = session.exchanges;
    expect(exchange?.answer).toMatchObject({ phase: 'done', finishReason: 'cancelled' });
    expect(exchange?.answer.tokens).toHaveLength(1);
    expect(session.current).toBeNull();
  });

  it('records what comes, and when', () => {
    const events = new Subject<GenerationEvent>();
    const { session, ask, wait } = start(() => events);
    wait(1000);
    ask('one');
    for (const event of whole) {
      wait(100);
      events.next(event);
    }
    const recording = recordingOf(session.exchanges[0]!);
    expect(recording.events.map(({ atMs }) => atMs)).toEqual([100, 200, 300, 400]);
    expect(recording.events.map(({ event }) => event)).toEqual(whole);
    expect(tokensPerSecond(recording.events)).toBeCloseTo(10);
    expect(tokensPerSecond(recording.events.slice(0, 2))).toBeNull();
  });

  it('shows a recorded answer beside the others; one without an end as stopped', () => {
    const { session, phases } = start(() => NEVER);
    const events = whole.map((event, index) => ({ atMs: index, event }));
    session.open({ question: 'one', model: 'other', events, error: null }, 'a');
    session.open({ question: 'two', model: 'other', events: events.slice(0, 2), error: null }, 'b');
    expect(phases()).toEqual(['done', 'done']);
    expect(session.exchanges.map(({ answer }) => answer.finishReason)).toEqual(['stop', 'cancelled']);
  });

  it('goes on with an answer of before the page was loaded, after its last event', () => {
    const { session, places } = start(() => from(whole.slice(2)));
    const events = whole.slice(0, 2).map((event, i) => ({ atMs: 10 * i, event }));
    session.resume({ question: 'What is 2 + 2?', model: 'reasoner', events, error: null }, 'a');
    expect(places).toEqual([{ responseId: 'resp-1', epoch: 'epoch-1', offset: 2 }]);
    expect(session.exchanges).toMatchObject([
      { question: 'What is 2 + 2?', answer: { phase: 'done', tokens: [{ text: 'So' }, { text: ' 4' }] } },
    ]);
    expect(recordingOf(session.exchanges[0]!).events.map(({ event }) => event)).toEqual(whole);
  });
});
