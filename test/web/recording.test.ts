import { describe, expect, it } from 'vitest';
import { NO_TASK } from '#bench/suites/own/own.js';
import { questionsOf } from '#bench/suites/own/own-problems.js';
import { EMPTY_ANSWER, foldAnswer } from '#client/answer.js';
import { FlinchError } from '#client/client-errors.js';
import { CompletionRecord } from '#client/completion-record.js';
import { chatJson } from '#web/chats/chat-json.js';
import { answerIn, fromLines, toLines } from '#web/chats/recording.js';
import { rolledBack, VERDICT } from '../client/fake-server.js';

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

describe('an exported chat', () => {
  const question = 'And twice that?';
  const stopped = { ...recording, question, events: recording.events.slice(0, 3) };
  const [last] = recording.events.slice(-1);
  const done = { ...last!, event: { ...last!.event, verdict: VERDICT } };
  const judged = { ...recording, events: [...recording.events.slice(0, -1), done] };
  const rows: Record<string, unknown>[] = JSON.parse(
    chatJson([
      { id: 'a', shown: 1, variants: [stopped, judged] },
      { id: 'b', shown: 0, variants: [{ ...recording, question }] },
    ]),
  );

  it('has every answer, with the messages that the model was told', () => {
    const asked = { role: 'user', content: recording.question };
    const told = [asked, { role: 'assistant', content: 'So 5!' }, { role: 'user', content: question }];
    expect(rows.map(({ response, messages }) => ({ response, messages }))).toEqual([
      { response: 'So 4', messages: [{ role: 'user', content: question }] },
      { response: 'So 5!', messages: [asked] },
      { response: 'So 5!', messages: told },
    ]);
  });

  it('has scores and flags in the field of a completion', () => {
    const record = new CompletionRecord();
    record.addWhole(rows[1]);
    const { tokens, flagged, steps, rollbacks, guard, verdict } = record.metadata;
    expect(guard).toEqual(whole.guard);
    expect(tokens.map(({ text, scores }) => [text, scores?.nll])).toEqual([
      ['So', 0.1],
      [' 5', 0.3],
      ['!', undefined],
    ]);
    expect([flagged[0]?.text, steps[0]?.text, rollbacks[0]?.chosen]).toEqual(['So 4', 'So 5', 2]);
    expect(verdict).toEqual(VERDICT);
  });

  it('is a file of questions for the benchmark, once somebody says what is right', () => {
    const labelled = rows.map((values, i) => ({
      values: { ...values, right: i > 0 },
      place: `${i}`,
      isTable: false,
    }));
    const { problems } = questionsOf(labelled, {
      ...NO_TASK,
      file: 'chat.json',
      check: 'kind',
      examples: null,
    });
    expect(problems.map(({ given, row }) => [given?.steps.join(), row?.right])).toEqual([
      ['So 4', false],
      ['So 5!', true],
      ['So 5!', true],
    ]);
  });
});
