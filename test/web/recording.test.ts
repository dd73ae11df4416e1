import { describe, expect, it } from 'vitest';
import { answerText, EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import { FlinchError } from '#client/errors.js';
import { durationOf, fromLines, Replay, toLines } from '#web/chats/recording.js';
import { rolledBack } from '../client/fake-server.js';

const recording = {
  question: 'What is 2 + 3?',
  model: 'reasoner',
  events: rolledBack().map((event, index) => ({ atMs: index * 100, event })),
  error: null,
};
const whole = rolledBack().reduce(foldAnswer, EMPTY_ANSWER);

describe('a recorded answer', () => {
  it('can be seen at any moment, forwards and backwards', () => {
    const replay = new Replay(recording);
    expect(replay.at(-1)).toBe(EMPTY_ANSWER);
    expect(answerText(replay.at(399))).toBe('So 4.');
    expect(replay.at(durationOf(recording))).toEqual(whole);
    expect(answerText(replay.at(800))).toBe('So');
    expect(answerText(replay.at(200))).toBe('So 4');
    expect(replay.at(Number.POSITIVE_INFINITY)).toEqual(whole);
  });

  it('ends as it failed', () => {
    const error = new FlinchError('engine_crashed', 'gone');
    const replay = new Replay({ ...recording, events: recording.events.slice(0, 3), error });
    expect(replay.at(100)).toMatchObject({ phase: 'streaming' });
    expect(replay.at(200)).toMatchObject({ phase: 'failed', error });
  });

  it('is the same after it was saved and opened', () => {
    expect(fromLines(toLines(recording))).toEqual(recording);
  });

  const lines = toLines(recording).split('\n');
  it.each([
    ['nothing', ''],
    ['something else', '{"type":"letter"}'],
    ['no JSON', 'hello'],
    ['an event without a time', `${lines[0]}\n{"event":{"type":"heartbeat"}}`],
    ['an event that is none of a generation', `${lines[0]}\n{"at_ms":1,"event":{"type":"heartbeat"}}`],
    ['a malformed event', `${lines[0]}\n{"at_ms":1,"event":{"type":"token.delta"}}`],
    ['events that do not fit', [lines[0], lines[1], lines[3]].join('\n')],
  ])('is refused where it is %s', (_, text) => {
    expect(() => fromLines(text)).toThrow();
  });
});
