import { concat, from, lastValueFrom, of, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { guardedAfter, type Settled } from '#gateway/models/go-on.js';
import { logprobScorer } from '#gateway/upstream/scoring/logprob-scorer.js';
import { StreamEncoding } from '#gateway/websocket/encoding.js';
import { toldOf } from '#gateway/websocket/told.js';
import { type BranchWriter, branchOf } from '#src/guard/branch.js';
import {
  DEFAULT_GUARD,
  DEFAULT_SCORING,
  FlowGate,
  type Guard,
  type GuardEvent,
  type RiskModel,
  type TokenEvent,
} from '#src/index.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { prepared } from '../../support/scripted-model.js';

const PROMPT = 7;
const LENGTH = 24;

/** Lines of three tokens. Every fourth is doubtful, unless it is a candidate; doubt grows with the place. */
const token = (place: number, isCandidate: boolean): TokenEvent => {
  const isDoubtful = !isCandidate && Math.floor(place / 3) % 4 === 1;
  const text = `${isCandidate ? 'c' : 'w'}${place}${place % 3 === 2 ? '\n' : ' '}`;
  return tokenEvent(place, { text, logprob: isDoubtful ? -2 - place / 100 : -0.1 });
};

/** Writes from a place in the whole response on, and counts from 0. */
function writer(start: number, from_ = 0, inserted = '', isCandidate = false): BranchWriter {
  const first = from_ + (inserted === '' ? 0 : 1);
  const own = Array.from({ length: Math.max(0, LENGTH - start - first) }, (_, i) => ({
    ...token(start + first + i, isCandidate),
    index: first + i,
  }));
  const given = tokenEvent(from_, { text: inserted, inserted: true, id: start + from_ });
  return {
    promptTokens: PROMPT + start,
    cachedTokens: PROMPT + start,
    written: own.length,
    tokens: () =>
      concat(inserted === '' ? [] : of(given), from(own), of(usageOf(start + PROMPT, first + own.length))),
    fits: (keep) => start + keep < LENGTH,
    fork: async (_, { keep, insert = '', temperature }) =>
      writer(start, keep, insert, temperature !== undefined),
    close: () => {},
  };
}

const usageOf = (promptTokens: number, completionTokens: number) => ({
  ...doneEvent('length', completionTokens),
  usage: { promptTokens, completionTokens },
});

/** Knows the place of a token in the response. */
const risks: RiskModel = {
  calibrated: () => true,
  ofToken: (_method, score, index) => (score > 1 && Math.abs(score - 2 - index / 100) < 1e-9 ? 1 : 0),
  ofStep: (_method, _statistic, score) => (score > 3 ? 1 : 0),
  ofAnswer: (_method, _statistic, score) => score / 100,
};

const guardOf = (changes: Partial<Guard>): Guard => ({
  ...DEFAULT_GUARD,
  method: 'nll',
  candidates: 1,
  temperature: 2,
  choose: 'uncertainty',
  maxRollbacks: 1,
  ...changes,
});

function answer(guard: Guard, after?: Settled): Promise<GuardEvent[]> {
  const start = after?.tokens.length ?? 0;
  const scoring = { ...DEFAULT_SCORING, methods: ['nll'] as const };
  const events = guardedAfter(
    after,
    async (judge) => branchOf(writer(start), logprobScorer(['nll']), judge),
    { scoring, guard, risks, seed: 1, refusesUnscored: guard.action === 'annotate' },
    new FlowGate(),
  );
  return lastValueFrom(events.pipe(toArray()));
}

/** What another gateway reads of the first events. */
function settledOf(events: readonly GuardEvent[], { delivery }: Guard): Settled | undefined {
  const by = prepared(() => from([]));
  const encoding = new StreamEncoding({
    id: 'resp-1',
    requestId: undefined,
    epoch: 'a',
    resumable: true,
    prepared: { ...by, guard: { ...by.guard, enabled: true, delivery } },
  });
  const frames = [...encoding.opening()];
  for (const event of events) frames.push(...encoding.event(event, frames.length));
  return toldOf('resp-1', frames)?.settled;
}

function check(isInOrder: boolean): void {
  if (!isInOrder) throw new Error('an event is out of order');
}

/** What a client has in the end, that applies retractions and checks the order. */
function read(events: readonly GuardEvent[]) {
  const tokens: TokenEvent[] = [];
  const scores: (object | undefined)[] = [];
  const spikes = new Set<number>();
  for (const event of events) {
    if (event.type === 'token.delta') {
      check(event.index === tokens.length);
      tokens.push(event);
    } else if (event.type === 'score.delta') {
      check(event.index < tokens.length);
      scores[event.index] = { scores: event.scores, risk: event.risk };
    } else if (event.type === 'spike.detected') {
      spikes.add(event.index);
    } else if (event.type === 'token.retracted') {
      check(event.from + event.tokens === tokens.length);
      tokens.length = scores.length = event.from;
      for (const index of spikes) if (index >= event.from) spikes.delete(index);
    }
  }
  const done = events.find((event) => event.type === 'generation.done');
  const { generatedTokens, ...usage } = done?.usage ?? { generatedTokens: 0 };
  return {
    tokens: tokens.map(({ text, inserted }) => ({ text, inserted })),
    scores,
    spikes,
    // How long a step was held differs.
    steps: events.flatMap((event) => (event.type === 'step.done' ? [{ ...event, held: 0 }] : [])),
    flags: events.filter(({ type }) => type === 'step.flagged'),
    rollbacks: events.filter(({ type }) => type === 'rollback.started' || type === 'rollback.done'),
    done: done && { ...done, usage },
    generated: generatedTokens ?? 0,
  };
}

describe('a response that goes on elsewhere', () => {
  it.each<readonly [string, Partial<Guard>]>([
    ['annotated', { action: 'annotate' }],
    ['annotated by its tokens', { action: 'annotate', per: 'token' }],
    ['annotated, step by step', { action: 'annotate', delivery: 'held' }],
    ['rolled back', { action: 'rollback' }],
    ['rolled back to a token', { action: 'rollback', rollbackTo: 'token' }],
    ['rolled back, step by step', { action: 'rollback', delivery: 'held' }],
    ['reflected upon', { action: 'reflect' }],
    ['reflected upon, step by step', { action: 'reflect', delivery: 'held' }],
    ['stopped', { action: 'stop' }],
  ])('is judged as a whole wherever it is cut: %s', async (_, changes) => {
    const guard = guardOf(changes);
    const whole = await answer(guard);
    const { generated, ...expected } = read(whole);
    expect(expected.flags.length).toBeGreaterThan(0);
    let wentOn = 0;
    for (let cut = 0; cut < whole.length; cut += 1) {
      const told = whole.slice(0, cut);
      const settled = settledOf(told, guard);
      if (!settled) continue;
      wentOn += 1;
      const rest = await answer(guard, settled);
      const { generated: all, ...known } = read([...told, ...rest]);
      expect(known, `cut ${cut}`).toEqual(expected);
      expect(all).toBeGreaterThanOrEqual(known.tokens.length);
    }
    expect(wentOn).toBeGreaterThan(LENGTH / 4);
    expect(generated).toBeGreaterThan(0);
  });

  it('goes on a second time', async () => {
    const guard = guardOf({ action: 'annotate' });
    const whole = await answer(guard);
    const first = whole.slice(0, 15);
    const second = (await answer(guard, settledOf(first, guard))).slice(0, 15);
    const third = await answer(guard, settledOf([...first, ...second], guard));
    const { generated: _, ...known } = read([...first, ...second, ...third]);
    const { generated: __, ...expected } = read(whole);
    expect(known).toEqual(expected);
  });

  it('tells listeners of held steps what is new alone', async () => {
    const guard = guardOf({ delivery: 'held' });
    const whole = await answer(guard);
    const settled = settledOf(whole.slice(0, whole.findIndex(({ type }) => type === 'step.done') + 1), guard);
    if (!settled) throw new Error('it cannot go on');
    const heard: GuardEvent[] = [];
    const { length } = settled.tokens;
    const events = guardedAfter(
      settled,
      async (judge) => branchOf(writer(length), logprobScorer(['nll']), judge),
      {
        scoring: { ...DEFAULT_SCORING, methods: ['nll'] },
        guard,
        risks,
        seed: 1,
        written: (event) => heard.push(event),
      },
      new FlowGate(),
    );
    await lastValueFrom(events);
    const tokens = heard.filter(({ type }) => type === 'token.delta');
    expect(length).toBeGreaterThan(0);
    expect(tokens).toHaveLength(LENGTH - length);
  });
});
