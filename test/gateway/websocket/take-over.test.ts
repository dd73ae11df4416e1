import { pino } from 'pino';
import { EMPTY, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { LostGeneration } from '#gateway/generations/elsewhere.js';
import { LiveGenerations } from '#gateway/generations/live-generations.js';
import { Models, type Prepared, type ServedModel } from '#gateway/index.js';
import { GovernedModels } from '#gateway/models/governed-models.js';
import { KeptAnswers } from '#gateway/models/kept-answers.js';
import { Policies } from '#gateway/policy/policies.js';
import { StreamEncoding } from '#gateway/websocket/encoding.js';
import { recordOf, takeOver } from '#gateway/websocket/take-over.js';
import { toldOf } from '#gateway/websocket/told.js';
import type { GuardEvent, TokenEvent } from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../../support/events.js';
import { settingsWith } from '../../support/gateway.js';
import { prepared } from '../../support/scripted-model.js';

const ID = 'resp-1';
const logger = pino({ level: 'silent' });
const rating = { method: 'nll', score: 1, risk: 0.5, calibrated: false } as const;

const tokens = (from: number, to: number, fields: Partial<TokenEvent> = {}): TokenEvent[] =>
  Array.from({ length: to - from }, (_, i) => tokenEvent(from + i, { text: `t${from + i}`, ...fields }));
const score = (index: number) =>
  scoreEvent(index, { scores: { nll: 1 }, skipped: ['margin'], reason: 'lag' });
const step = (number: number, from: number, to: number, flagged = false): GuardEvent => ({
  type: 'step.done',
  step: number,
  from,
  to,
  text: 'x',
  ...rating,
  flagged,
  unscored: 1,
});
const flag = (number: number, from: number, to: number, action: 'rollback' | 'reflect'): GuardEvent => ({
  type: 'step.flagged',
  step: number,
  from,
  to,
  text: 'x',
  ...rating,
  action,
});
const started: GuardEvent = { type: 'rollback.started', rollback: 0, step: 1, from: 2, candidates: 1 };
const chosen: GuardEvent = {
  type: 'rollback.done',
  rollback: 0,
  step: 1,
  outcome: 'replaced',
  chosen: 1,
  candidates: [{ text: 'x', tokens: 2, score: null }],
};

function framesOf(events: readonly GuardEvent[], by: Prepared = prepared(() => EMPTY)): string[] {
  const encoding = new StreamEncoding({
    id: ID,
    requestId: 'mine',
    epoch: 'a',
    resumable: true,
    prepared: by,
  });
  const frames = [...encoding.opening()];
  for (const event of events) frames.push(...encoding.event(event, frames.length));
  return frames;
}

/** Under a guard that cuts the response into steps. */
function settledOf(events: readonly GuardEvent[], changes: Partial<Prepared['guard']> = {}) {
  const by = prepared(() => EMPTY);
  const frames = framesOf(events, { ...by, guard: { ...by.guard, enabled: true, ...changes } });
  return toldOf(ID, frames)?.settled;
}

describe('what stays of a generation', () => {
  const FIRST = [...tokens(0, 2), score(0), score(1), step(0, 0, 2)];

  it('are the steps that are settled, with their scores', () => {
    const events = [...FIRST, ...tokens(2, 4), score(2)];
    const [a, b] = tokens(0, 2);
    expect(settledOf(events)).toEqual({
      tokens: [a, b],
      events: [a, score(0), b, score(1), step(0, 0, 2)],
      steps: 1,
      flagged: 0,
      interventions: 0,
      told: 4,
      written: 4,
    });
  });

  it.each(['stop', 'rollback'] as const)('is nothing while a %s at a spike is under way', (action) => {
    const spike: GuardEvent = { type: 'spike.detected', index: 2, ...rating, action };
    expect(settledOf([...FIRST, ...tokens(2, 3), score(2), spike])).toBeUndefined();
    const { action: _, ...marked } = spike;
    expect(settledOf([...FIRST, ...tokens(2, 3), score(2), marked])).toMatchObject({ steps: 1 });
    if (action === 'stop') return;
    const over = [{ ...started, from: 2 }, chosen, step(1, 2, 3)];
    expect(settledOf([...FIRST, ...tokens(2, 3), score(2), spike, ...over])).toMatchObject({ steps: 2 });
  });

  it('is all where nothing cuts it into steps', () => {
    const events = tokens(0, 3);
    expect(settledOf(events, { enabled: false })).toMatchObject({
      tokens: events,
      events,
      steps: 0,
      told: 3,
    });
  });

  it('has no step that is flagged: it counts what was done', () => {
    const rolledBack = [...FIRST, ...tokens(2, 4), flag(1, 2, 4, 'rollback'), started];
    const replaced = [
      ...[...rolledBack, { type: 'token.retracted', from: 2, tokens: 2 } as const, ...tokens(2, 3)],
      ...[score(2), chosen, step(1, 2, 3, true)],
    ];
    const settled = settledOf(replaced);
    expect(settled).toMatchObject({ steps: 2, flagged: 1, interventions: 1, told: 3, written: 5 });
    expect(settled?.events.at(-1)).toEqual(step(1, 2, 3));
    for (let cut = FIRST.length + 3; cut < replaced.length; cut++)
      expect(settledOf(replaced.slice(0, cut)), `cut ${cut}`).toBeUndefined();
  });

  it('has the text of a reflection, once it is a step', () => {
    const reflected = [...FIRST, ...tokens(2, 4), flag(1, 2, 4, 'reflect'), step(1, 2, 4, true)];
    const inserted = [...reflected, ...tokens(4, 5, { inserted: true }), score(4)];
    expect(settledOf(reflected)).toBeUndefined();
    expect(settledOf(inserted)).toBeUndefined();
    expect(settledOf([...inserted, step(2, 4, 5)])).toMatchObject({ steps: 3, flagged: 1, interventions: 1 });
  });

  it('is nothing where a part of a step that is held back was told', () => {
    expect(settledOf(FIRST, { delivery: 'held' })).toMatchObject({ steps: 1 });
    expect(settledOf([...FIRST, ...tokens(2, 3)], { delivery: 'held' })).toBeUndefined();
  });

  it.each<readonly [string, readonly GuardEvent[]]>([
    ['another part', tokens(0, 1, { part: 'reasoning' })],
    ['a token missing', tokens(1, 2)],
    ['text beside it', [{ type: 'upstream.delta', at: 0, chunk: { choices: [] }, unscored: ['refusal'] }]],
    ['an end', [doneEvent()]],
  ])('is nothing with %s', (_, events) => {
    expect(settledOf(events)).toBeUndefined();
  });

  it('is nothing with another id, a gap, or no beginning', () => {
    const frames = framesOf(FIRST);
    expect(toldOf('resp-2', frames)).toBeNull();
    expect(toldOf(ID, frames.toSpliced(2, 1))).toBeNull();
    expect(toldOf(ID, frames.slice(1))).toBeNull();
  });

  it('is no frame of another form', () => {
    expect(() => toldOf(ID, [...framesOf([]), 'no JSON'])).toThrow('not JSON');
    const token = JSON.stringify({ type: 'token.delta', response_id: ID, offset: 1, index: -1 });
    expect(() => toldOf(ID, [...framesOf([]), token])).toThrow('index');
  });
});

describe('a generation whose gateway is gone', () => {
  const TOLD = [tokenEvent(0, { text: 'One' })];
  const request = { type: 'generation.create', request_id: 'mine', resumable: true, model: 'reasoner' };
  const record = recordOf({ ...request, messages: [{ role: 'user', content: 'Hi' }], guard: {} });
  const lost: LostGeneration = { id: ID, epoch: 'a', fence: '2', record, frames: framesOf(TOLD) };
  const principal = { name: 'web', client: 'web', admit: () => () => {} };

  function gateway(changes: Partial<Prepared> = {}) {
    const asked: unknown[] = [];
    const model: ServedModel = {
      name: 'reasoner',
      status: () => ({ ready: true }),
      prepare: async (_, options) => {
        asked.push(options.asked.after?.tokens);
        const rest = of<GuardEvent[]>(tokenEvent(1, { text: 'Two' }), doneEvent('stop', 2));
        return { ...prepared(() => rest), goesOn: true, ...changes };
      },
    };
    const live = new LiveGenerations(settingsWith().streams, logger);
    const policies = new Policies({ access: { keys: [] } });
    const models = new GovernedModels(new Models([model]), policies, {
      severalKeys: true,
      count: () => {},
      escalated: () => {},
      voted: () => {},
      kept: new KeptAnswers(),
    });
    return { asked, live, goOn: takeOver({ models, live, logger }) };
  }

  /** As a client of the policy that there is none. */
  const told = (changes: Partial<Prepared> = {}): LostGeneration => {
    const { guard } = prepared(() => EMPTY);
    const by = { ...prepared(() => EMPTY), guard: { ...guard, policy: null }, ...changes };
    return { ...lost, frames: framesOf(TOLD, by) };
  };

  it('goes on after what was told, under its own id and with offsets that count on', async () => {
    const { asked, live, goOn } = gateway();
    expect(await goOn(told(), principal)).toBe(true);
    expect(asked).toEqual([[expect.objectContaining({ index: 0, text: 'One' })]]);
    const frames: { offset: number; type: string; epoch?: string }[] = [];
    const generation = live.own(ID);
    const sink = {
      send: (frame: string) => frames.push(JSON.parse(frame)),
      ended: () => {},
      refused: () => {},
      lost: () => {},
    };
    expect(generation?.attach(sink, 0)).toBe(true);
    generation?.resume(sink);
    expect(frames.map(({ offset, type }) => [offset, type])).toEqual([
      [0, 'generation.created'],
      [1, 'token.delta'],
      [2, 'token.delta'],
      [3, 'generation.done'],
    ]);
    expect(frames[0]).toMatchObject({ epoch: 'a' });
    generation?.discard();
    expect(live.historyBytes).toBe(0);
  });

  it('goes on while the gateway drains: it is no new one', async () => {
    const { live, goOn } = gateway();
    live.refuse();
    expect(await goOn(told(), principal)).toBe(true);
    live.own(ID)?.discard();
  });

  it.each<readonly [string, Partial<Prepared>]>([
    ['the model cannot go on', { goesOn: false }],
    ['the guard is another', { guard: { ...prepared(() => EMPTY).guard, rate: 0.5 } }],
    ['the prompt is another', { promptTokens: 2 }],
  ])('does not where %s', async (_, changes) => {
    const { live, goOn } = gateway(changes);
    await expect(goOn(told(), principal)).rejects.toMatchObject({ body: { code: 'owner_lost' } });
    expect(live.own(ID)).toBeUndefined();
    expect(live.size).toBe(0);
  });

  it.each(['no JSON', '{}', '{"type":"generation.create","model":"reasoner","messages":1}'])(
    'does not by %s',
    async (other) => {
      const { goOn } = gateway();
      await expect(goOn({ ...told(), record: other }, principal)).rejects.toThrow();
    },
  );

  it('does not if its key has no place left', async () => {
    const { goOn } = gateway();
    const refuses = { ...principal, admit: () => Promise.reject(new Error('none')) };
    await expect(goOn(told(), refuses)).rejects.toThrow('none');
  });
});
