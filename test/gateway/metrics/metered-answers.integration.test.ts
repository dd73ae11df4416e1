import { setImmediate } from 'node:timers/promises';
import { ROOT_CONTEXT } from '@opentelemetry/api';
import { pino } from 'pino';
import { lastValueFrom, NEVER, Observable, of, throwError, toArray } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import type { Listen } from '#gateway/answers/answer-news.js';
import { answer } from '#gateway/answers/answering.js';
import { ApiError } from '#gateway/errors/api-error.js';
import { Models, type Source } from '#gateway/index.js';
import { metered } from '#gateway/metrics/metered-answers.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import { chatSchema } from '#gateway/requests/generation-request.js';
import { EngineError, FlowGate, type GuardEvent } from '#src/index.js';
import { answeringOf, answerRequest } from '../../support/answers.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { Scrape } from '../../support/metrics.js';
import { scriptedSource } from '../../support/scripted-model.js';

const REQUEST = chatSchema.parse({ model: 'reasoner', messages: [{ role: 'user', content: 'Well?' }] });

/** A model that is metered, with what it does with every request. */
function model(source: () => Promise<Source>, listen: readonly Listen[] = []) {
  const metrics = new Metrics();
  let now = 0;
  const clock = { now: () => (now += 500), date: () => 0 };
  const plain = new Models([{ name: 'reasoner', status: () => ({ ready: true }), source }]);
  const log: string[] = [];
  const logger = pino({}, { write: (line: string) => log.push(line) });
  const broken = { now: false };
  const generations = () => {
    if (broken.now) throw new Error('cannot count');
    return 7;
  };
  metrics.watch({ models: plain, logger, generations, connections: () => ({ http: 3, websocket: 0 }) });
  const faulty = (error: unknown): void => metrics.failed(error);
  const answering = answeringOf(plain.all, { observe: [metered(metrics, listen, clock)], faulty });
  const start = async (): Promise<Observable<GuardEvent>> =>
    (await answer(answerRequest(REQUEST), answering)).start(new FlowGate());
  return { metrics, log, broken, start, read: async () => new Scrape(await metrics.text()) };
}

const starting = (events: Observable<GuardEvent>) => model(async () => scriptedSource(() => events));
/** The number of generations by their outcome, those that are 0 left out. */
const outcomes = (read: Scrape): Record<string, number> =>
  Object.fromEntries(
    read.series
      .filter(({ name, value }) => name === 'flinch_generations_total' && value > 0)
      .map(({ labels, value }) => [labels.outcome, value]),
  );

describe('a metered model', () => {
  it('times a generation from when it is asked to prepare it, and names its response', async () => {
    const { metrics, start, read } = starting(of(tokenEvent(0), doneEvent('stop', 1)));
    (await start()).subscribe();
    expect(outcomes(await read())).toEqual({ stop: 1 });
    // By a clock that goes on by half a second with each look at it: asked, first token written and gone out, end.
    expect((await read()).sum('gen_ai_server_time_to_first_token_seconds_sum')).toBe(1);
    expect((await read()).sum('gen_ai_server_request_duration_seconds_sum')).toBe(1.5);
    expect(await metrics.text('openMetrics')).toContain('{response_id="resp-7"} 1 0.000\n');
  });

  it('counts as cancelled what is unsubscribed before its end, and only then', async () => {
    const { start, read } = starting(NEVER);
    (await start()).subscribe().unsubscribe();
    expect(outcomes(await read())).toEqual({ cancelled: 1 });
    const ended = starting(new Observable((subscriber) => subscriber.next(doneEvent())));
    const subscription = (await ended.start()).subscribe();
    await setImmediate();
    subscription.unsubscribe();
    expect(outcomes(await ended.read())).toEqual({ stop: 1 });
  });

  it.each([
    ['an engine that has no room', new EngineError('overloaded', '')],
    ['an engine that will never have room', new EngineError('memory', '')],
    ['a text that does not fit', new EngineError('too_long', '')],
    ['a request that a server refuses', new ApiError('upstream_refused', '')],
  ])('counts as none what is refused before it begins: %s', async (_, error) => {
    const { start, read } = starting(throwError(() => error));
    (await start()).subscribe({ error: () => {} });
    expect(outcomes(await read())).toEqual({});
    const preparing = model(() => Promise.reject(error));
    await expect(preparing.start()).rejects.toBe(error);
    expect(outcomes(await preparing.read())).toEqual({});
  });

  it.each([
    ['an engine that dies', new EngineError('crashed', ''), 'engine_crashed'],
    ['a server that is not there', new ApiError('upstream_unreachable', ''), 'upstream_unreachable'],
    ['what nobody expects', new Error('?'), 'internal_error'],
  ])('counts as an error with its code: %s', async (_, error, code) => {
    const failed = async ({ read }: { read: () => Promise<Scrape> }) => {
      expect(outcomes(await read())).toEqual({ error: 1 });
      const labels = { gen_ai_request_model: 'reasoner', error_type: code };
      expect((await read()).sum('gen_ai_server_request_duration_seconds_count', labels)).toBe(1);
    };
    const starts = starting(throwError(() => error));
    (await starts.start()).subscribe({ error: () => {} });
    await failed(starts);
    const preparing = model(() => Promise.reject(error));
    await expect(preparing.start()).rejects.toBe(error);
    await failed(preparing);
  });

  it('counts as an error also what would have been a refusal, once it has begun', async () => {
    const events = new Observable<GuardEvent>((subscriber) => {
      subscriber.next(tokenEvent(0));
      subscriber.error(new EngineError('overloaded', ''));
    });
    const { start, read } = starting(events);
    (await start()).subscribe({ error: () => {} });
    expect(outcomes(await read())).toEqual({ error: 1 });
  });
});

describe('who listens to a generation', () => {
  const rating = { method: 'nll', score: 2, risk: 0.99, calibrated: true } as const;
  const span = (step: number) => ({ step, from: step, to: step + 1, text: 'x' });
  const flagged = (step: number, action: 'rollback' | 'stop') =>
    ({ type: 'step.flagged', ...span(step), ...rating, action }) as const;
  const done = (step: number, isFlagged: boolean) =>
    ({ type: 'step.done', ...span(step), ...rating, flagged: isFlagged }) as const;
  const rollback: GuardEvent = {
    type: 'rollback.done',
    rollback: 0,
    step: 1,
    outcome: 'replaced',
    chosen: 1,
    candidates: [],
  };

  /** What is told of these events, in few words. */
  function listening() {
    const told: string[] = [];
    const listen: Listen = ({ asked: { responseId } }) => ({
      tell: (news) => {
        const { step } = news.type === 'flagged' ? news.step : { step: '' };
        const what = 'action' in news ? news.action : 'code' in news ? news.code : '';
        told.push([responseId, news.type, step, what].filter((each) => each !== '').join(' '));
      },
    });
    const broken: Listen = () => {
      throw new Error('cannot listen');
    };
    return { told, listens: [broken, listen] };
  }

  it('hears of each flagged step once, of rollbacks and of the end', async () => {
    const { told, listens } = listening();
    const events = of<GuardEvent[]>(
      ...[tokenEvent(0), done(0, false), flagged(1, 'rollback'), rollback],
      // What took the place of the step is flagged itself.
      ...[done(1, true), flagged(2, 'stop'), done(2, true), doneEvent('stop', 3)],
    );
    (await model(async () => scriptedSource(() => events), listens).start()).subscribe();
    await setImmediate();
    expect(told).toEqual([
      'resp-7 first',
      'resp-7 flagged 1 rollback',
      'resp-7 rollback',
      'resp-7 flagged 1 annotate',
      'resp-7 flagged 2 stop',
      'resp-7 done',
    ]);
  });

  it.each([
    ['fails', throwError(() => new EngineError('crashed', '')), 'failed engine_crashed'],
    ['is refused', throwError(() => new EngineError('overloaded', '')), 'refused overloaded'],
  ])('hears of one that %s, when it starts or before', async (_, events, heard) => {
    const starts = listening();
    (await model(async () => scriptedSource(() => events), starts.listens).start()).subscribe({
      error: () => {},
    });
    await setImmediate();
    expect(starts.told).toEqual([`resp-7 ${heard}`]);
    const before = listening();
    await expect(model(() => lastValueFrom(events), before.listens).start()).rejects.toThrow();
    expect(before.told).toEqual([`resp-7 ${heard}`]);
  });

  it('hears of one that is cancelled', async () => {
    const { told, listens } = listening();
    (await model(async () => scriptedSource(() => NEVER), listens).start()).subscribe().unsubscribe();
    expect(told).toEqual(['resp-7 cancelled']);
  });

  it('may change the trace that whoever writes is told', async () => {
    const trace = ROOT_CONTEXT.setValue(Symbol('own'), 1);
    let given: unknown = null;
    const plain = new Models([
      {
        name: 'reasoner',
        status: () => ({ ready: true }),
        source: async (asked) => {
          given = asked.trace;
          return scriptedSource(() => NEVER);
        },
      },
    ]);
    const metrics = new Metrics();
    metrics.watch({ models: plain, generations: () => 0, connections: () => ({ http: 0, websocket: 0 }) });
    const observe = [metered(metrics, [() => ({ trace, tell: () => {} })])];
    await answer(answerRequest(REQUEST), answeringOf(plain.all, { observe }));
    expect(given).toBe(trace);
  });
});

describe('a fault in measuring', () => {
  it('is no fault of the generation, which is counted, and is logged once', async () => {
    const { metrics, log, start, read } = starting(of(tokenEvent(0), tokenEvent(1), doneEvent('stop', 2)));
    const { generations } = metrics.of('reasoner');
    for (const measure of ['firstToken', 'perToken'] as const)
      vi.spyOn(generations, measure).mockImplementation(() => {
        throw new Error('cannot measure');
      });
    const events = await lastValueFrom((await start()).pipe(toArray()));
    expect(events).toHaveLength(3);
    expect(outcomes(await read())).toEqual({ stop: 1 });
    expect(log).toHaveLength(1);
    expect(log[0]).toContain('cannot measure');
  });

  it('leaves what else there is to be read', async () => {
    const { broken, log, read } = starting(of(doneEvent()));
    await read();
    broken.now = true;
    expect((await read()).sum('flinch_generations_total')).toBe(0);
    expect((await read()).sum('flinch_active_generations')).toBe(7);
    expect(log).toHaveLength(1);
  });
});
