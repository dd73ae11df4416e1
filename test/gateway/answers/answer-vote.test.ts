import { Observable, of, type Subscriber } from 'rxjs';
import { expect, it } from 'vitest';
import { voted } from '#gateway/answers/answer-vote.js';
import { KeptAnswers } from '#gateway/answers/kept-answers.js';
import { unlessReplaced } from '#gateway/answers/replaced.js';
import type { Answer } from '#gateway/answers/served-model.js';
import type { OwnAnswer } from '#gateway/answers/whole-answer.js';
import { ApiError } from '#gateway/errors/api-error.js';
import { finalAnswer } from '#src/answers/final-answer.js';
import { type DoneEvent, FlowGate, type GuardEvent, type Verdict } from '#src/index.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

const FLAGGED: Verdict = {
  flagged: true,
  risk: 1,
  rate: 0.1,
  flaggedSteps: 1,
  steps: 1,
  unscoredTokens: 0,
  calibrated: true,
  reason: null,
};

interface Scripted {
  readonly text: string;
  readonly finish?: DoneEvent['finishReason'];
  /** After its text. */
  readonly error?: ApiError;
  readonly flagged?: boolean;
  /** Whether a token of a tool call comes after its text. */
  readonly call?: boolean;
}

/** One token of text, and one of reasoning that a vote must not read. */
const answer = ({ text, finish = 'stop', error, flagged = true, call = false }: Scripted): Answer => {
  const verdict = { ...FLAGGED, flagged };
  const reasoning = tokenEvent(1, { text: '99', part: 'reasoning' });
  const called = call ? [tokenEvent(2, { text: '', part: 'tool_calls' })] : [];
  const tokens = [tokenEvent(0, { text }), reasoning, ...called];
  return scriptedAnswer(() =>
    error
      ? new Observable((subscriber) => subscriber.error(error))
      : of<GuardEvent[]>(...tokens, { ...doneEvent(finish, 2), verdict }),
  );
};

interface Voting {
  readonly answers?: number;
  readonly held?: boolean;
  readonly kept?: KeptAnswers;
}

/** A vote of scripted answers, the first of which is there. */
function voting(scripts: readonly Scripted[], { answers = scripts.length, held = true, kept }: Voting = {}) {
  const drawn: number[] = [];
  const told: [replaced: boolean, error: unknown][] = [];
  const first = scripts[0] ?? { text: '' };
  const options = {
    of: 'small',
    answers,
    said: finalAnswer,
    answer: async (number: number) => {
      drawn.push(number);
      return answer(scripts[number]!);
    },
    voted: (...how: (typeof told)[number]) => told.push(how),
  };
  const start = (gate: FlowGate) =>
    new Observable<GuardEvent>((subscriber) => {
      const own = (kept ?? new KeptAnswers()).open('', (error) => subscriber.error(error));
      const rest = (flagged: OwnAnswer) => voted(flagged, options, gate);
      const isReplaced = ({ flagged }: Verdict) => flagged === true;
      const replacing = { held, kept: own, isReplaced, rest };
      subscriber.add(unlessReplaced(answer(first), replacing, gate).subscribe(subscriber));
    });
  return { start, drawn, told };
}

async function outcome(scripts: readonly Scripted[], options: Voting = {}) {
  const { start, drawn, told } = voting(scripts, options);
  const events: GuardEvent[] = [];
  await start(new FlowGate()).forEach((event) => {
    events.push(event);
  });
  const at = events.findIndex(({ type }) => type === 'generation.voted');
  const texts = events.slice(at + 1).flatMap((event) => (event.type === 'token.delta' ? event.text : []));
  const done = events.at(-1);
  return { vote: events[at], texts, done, drawn, told, events };
}

const LOST = new ApiError('upstream_unreachable', 'the connection was cut');

it('returns the answer that most agree with, and draws no more than that takes', async () => {
  const scripts = ['It is 1.', 'Is it 2?', 'So 2.', '2', 'never drawn'].map((text) => ({ text }));
  const { vote, texts, done, drawn, told } = await outcome(scripts);
  expect(vote).toMatchObject({ answers: 4, agreed: 3, replaced: true, failed: null, risk: 1 });
  expect(texts).toEqual(['Is it 2?', '99']);
  expect(drawn).toEqual([1, 2, 3]);
  expect(done).toMatchObject({
    usage: { promptTokens: 1, completionTokens: 2 },
    usageByModel: { small: { promptTokens: 4, completionTokens: 8 } },
  });
  expect(told).toEqual([[true, null]]);
});

it('keeps the flagged answer where others agree with it', async () => {
  const { vote, texts, drawn, done, told } = await outcome(
    ['1', '1', '1', '2', '2'].map((text) => ({ text })),
  );
  expect(vote).toMatchObject({ answers: 3, agreed: 3, replaced: false });
  expect([texts, drawn]).toEqual([
    ['1', '99'],
    [1, 2],
  ]);
  expect(done).toMatchObject({ verdict: FLAGGED, usageByModel: { small: { completionTokens: 6 } } });
  expect(told).toEqual([[false, null]]);
});

it('tells a client that can retract of the flagged answer at once', async () => {
  const { events } = await outcome([{ text: '1' }, { text: '2' }, { text: '2' }], { held: false });
  expect(events.map((event) => (event.type === 'token.delta' ? event.text : event.type))).toEqual([
    ...['1', '99', 'generation.voted'],
    ...['2', '99', 'generation.done'],
  ]);
  const same = await outcome([{ text: '1' }, { text: '1' }], { held: false });
  expect(same.events.map(({ type }) => type).slice(2)).toEqual(['generation.voted', 'generation.done']);
});

it('lets no answer vote that was cut off', async () => {
  const cut = { text: 'cut at 2', finish: 'length' };
  const { vote, texts } = await outcome([cut, cut, { text: '1' }, cut]);
  expect(vote).toMatchObject({ answers: 3, agreed: 1, replaced: true });
  expect(texts[0]).toBe('1');
  const none = await outcome([cut, cut]);
  expect(none.vote).toMatchObject({ answers: 2, agreed: 0, replaced: false });
});

it('takes no vote on what cannot be compared, and says so', async () => {
  const essay = { text: 'There was a king. He had a daughter. She had a horse. It was old.' };
  const { vote, texts, drawn, told } = await outcome([essay, essay, essay]);
  expect(vote).toMatchObject({ answers: 1, agreed: 0, replaced: false, failed: null, risk: FLAGGED.risk });
  expect([texts[0], drawn, told]).toEqual([essay.text, [], [[false, null]]]);
});

it('leaves an answer alone that calls a tool, and one that is not flagged', async () => {
  for (const first of [
    { text: '', finish: 'tool_calls' },
    { text: '1', flagged: false },
  ]) {
    const { vote, drawn, told, done } = await outcome([first, { text: '2' }]);
    expect([vote, drawn, told]).toEqual([undefined, [], []]);
    expect(done?.type).toBe('generation.done');
  }
});

it('decides by those that are there where one fails, and draws no further one', async () => {
  const { vote, texts, drawn, told } = await outcome(
    [{ text: '1' }, { text: '', error: LOST }, { text: '2' }, { text: '2' }, { text: '2' }],
    { answers: 5 },
  );
  expect(vote).toMatchObject({ answers: 2, agreed: 1, replaced: false, failed: 'upstream_unreachable' });
  expect([texts[0], drawn]).toEqual(['1', [1, 2]]);
  expect(told).toEqual([[false, LOST]]);
});

it('ends all answers when the client leaves', async () => {
  const subscribers = new Set<Subscriber<GuardEvent>>();
  const endless = scriptedAnswer(
    () =>
      new Observable((subscriber) => {
        subscribers.add(subscriber);
        return () => subscribers.delete(subscriber);
      }),
  );
  const flagged = { ...doneEvent(), verdict: FLAGGED };
  const options = {
    answers: 5,
    of: 'small',
    said: finalAnswer,
    answer: () => Promise.resolve(endless),
    voted: () => {},
  };
  const kept = new KeptAnswers().open('', () => {});
  const { verdict } = flagged;
  const subscription = voted(
    { done: flagged, verdict, text: '1', calls: false, withheld: [flagged], kept },
    options,
    new FlowGate(),
  ).subscribe();
  await expect.poll(() => subscribers.size).toBe(2);
  subscription.unsubscribe();
  expect(subscribers.size).toBe(0);
});

it('counts what it keeps, also of further answers', async () => {
  const text = 'x'.repeat(2000);
  const kept = new KeptAnswers(20_000);
  await expect(outcome([{ text: '1' }, { text }, { text }], { kept, held: false })).resolves.toBeDefined();
  const little = new KeptAnswers(5000);
  await expect(outcome([{ text: '1' }, { text }, { text }], { kept: little, held: false })).rejects.toThrow(
    'limits.kept_bytes',
  );
});
