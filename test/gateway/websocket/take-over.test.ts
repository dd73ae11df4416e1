import { pino } from 'pino';
import { EMPTY, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { LostGeneration } from '#gateway/generations/elsewhere.js';
import { LiveGenerations } from '#gateway/generations/live-generations.js';
import { Models, type Prepared, type ServedModel } from '#gateway/index.js';
import { GovernedModels } from '#gateway/models/governed-models.js';
import { Policies } from '#gateway/policy/policies.js';
import { StreamEncoding } from '#gateway/websocket/encoding.js';
import { recordOf, takeOver } from '#gateway/websocket/take-over.js';
import { toldOf } from '#gateway/websocket/told.js';
import type { GuardEvent } from '#src/index.js';
import { doneEvent, scoreEvent, tokenEvent } from '../../support/events.js';
import { settingsWith } from '../../support/gateway.js';
import { prepared } from '../../support/scripted-model.js';

const ID = 'resp-1';
const logger = pino({ level: 'silent' });
const rating = { method: 'nll', score: 1, risk: 0.5, calibrated: false } as const;
const span = { step: 0, from: 0, to: 2, text: 'x' };

/** One of each kind that may precede the end. */
const EVENTS: readonly GuardEvent[] = [
  tokenEvent(0, { text: 'One', topLogprobs: [{ id: 1, text: 'a', logprob: -2 }] }),
  scoreEvent(0, { scores: { nll: 1 }, skipped: ['adversarial'], reason: 'lag', risk: { nll: 0.5 } }),
  { type: 'spike.detected', index: 0, ...rating },
  tokenEvent(1, { text: 'Hm', part: 'reasoning' }),
  scoreEvent(1, { part: 'reasoning', missing: ['nll'] }),
  { type: 'step.flagged', ...span, ...rating, unscored: 1, action: 'rollback' },
  { type: 'rollback.started', rollback: 0, step: 0, from: 0, candidates: 1 },
  { type: 'token.retracted', from: 0, tokens: 2 },
  tokenEvent(0, { text: 'Two', inserted: true }),
  {
    ...{ type: 'rollback.done', rollback: 0, step: 0, outcome: 'replaced', chosen: 1 },
    candidates: [{ text: 'One', tokens: 2, score: null }],
  },
  { type: 'step.done', ...span, ...rating, flagged: true, held: { tokens: 1, ms: 2.5 } },
  { type: 'scorer.mismatch', tokens: 16, difference: 1, tolerance: 0.2 },
  { type: 'upstream.delta', at: 1, chunk: { choices: [] }, unscored: ['refusal'] },
];

function framesOf(events: readonly GuardEvent[], by: Prepared = prepared(() => EMPTY)): string[] {
  const encoding = new StreamEncoding({
    ...{ id: ID, requestId: 'mine', epoch: 'a' },
    resumable: true,
    prepared: by,
  });
  const frames = [...encoding.opening()];
  for (const event of events) frames.push(...encoding.event(event, frames.length));
  return frames;
}

describe('what was told of a generation', () => {
  it('is read back as it was', () => {
    expect(toldOf(ID, framesOf(EVENTS))?.events).toEqual(EVENTS);
  });

  it('is nothing with another id, a gap, the end, or no beginning', () => {
    const frames = framesOf(EVENTS);
    expect(toldOf('resp-2', frames)).toBeNull();
    expect(toldOf(ID, frames.toSpliced(2, 1))).toBeNull();
    expect(toldOf(ID, framesOf([doneEvent()]))).toBeNull();
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
      prepare: async (_, { begun }) => {
        asked.push(begun?.tokens);
        const rest = of<GuardEvent[]>(tokenEvent(1, { text: 'Two' }), doneEvent('stop', 2));
        return { ...prepared(() => rest), goesOn: true, ...changes };
      },
    };
    const live = new LiveGenerations(settingsWith().streams, logger);
    const policies = new Policies({ access: { keys: [] } });
    const models = new GovernedModels(new Models([model]), policies, {
      severalKeys: true,
      count: () => {},
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
      ...{ ended: () => {}, refused: () => {}, lost: () => {} },
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
