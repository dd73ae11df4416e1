import { describe, expect, it } from 'vitest';
import { EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import { FlinchError } from '#client/client-errors.js';
import { answerIn, fromLines, toLines } from '#web/chats/recording.js';
import { rolledBack } from '../client/fake-server.js';

const recording = {
  question: 'What is 2 + 3?',
  model: 'reasoner',
  events: rolledBack().map((event, index) => ({ atMs: index * 100, event })),
  error: null,
};
const whole = rolledBack().reduce(foldAnswer, EMPTY_ANSWER);

describe('a recorded answer', () => {
  it('ends as it did, or as it failed', () => {
    expect(answerIn(recording)).toEqual(whole);
    const error = new FlinchError('engine_crashed', 'gone');
    const failed = answerIn({ ...recording, events: recording.events.slice(0, 3), error });
    expect(failed).toMatchObject({ phase: 'failed', error });
  });

  it('is the same after it was kept', () => {
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
