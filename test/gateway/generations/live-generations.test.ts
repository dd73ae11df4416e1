import { pino } from 'pino';
import { Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '#gateway/errors/api-error.js';
import type { Elsewhere } from '#gateway/generations/elsewhere.js';
import type { Encoding, LiveGeneration, Sink } from '#gateway/generations/live-generation.js';
import { LiveGenerations } from '#gateway/generations/live-generations.js';
import type { FlowGate, GuardEvent } from '#src/index.js';
import { doneEvent, tokenEvent } from '../../support/events.js';
import { settingsWith } from '../../support/gateway.js';
import { scriptedAnswer } from '../../support/scripted-model.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const RESUME_MS = 1000;

function registry(changes: Parameters<typeof settingsWith>[0] = {}, elsewhere: Elsewhere[] = [], shares = 1) {
  const settings = settingsWith({
    streams: { resume_s: RESUME_MS / 1000, ...changes.streams },
    bounds: { historyEvents: 8, ...changes.bounds },
  });
  return new LiveGenerations(settings, pino({ level: 'silent' }), elsewhere, shares);
}

class Reader implements Sink {
  readonly frames: string[] = [];
  readonly told: string[] = [];
  send(frame: string): void {
    this.frames.push(frame);
  }
  ended(): void {
    this.told.push('ended');
  }
  refused(error: unknown): void {
    this.told.push(`refused: ${error instanceof ApiError ? error.body.code : error}`);
  }
  lost({ body }: ApiError): void {
    this.told.push(body.code);
  }
}

const encoding = (opening: string[]): Encoding => ({
  opening: () => opening,
  event: (event) => {
    if (event.type !== 'token.delta') return [event.type];
    if (Number.isNaN(event.index)) throw new RangeError('no index');
    return [String(event.index)];
  },
  cancelled: () => ['cancelled'],
  failed: ({ body }) => [body.code],
});

/** A generation whose frames are the indices of its tokens, after an opening. */
class Written {
  readonly events = new Subject<GuardEvent>();
  readonly released = vi.fn();
  generation!: LiveGeneration;
  gate!: FlowGate;
  #next = 0;

  static async open(
    live: LiveGenerations,
    { id = 'a', resumable = true, owner = 'me', opening = ['opening'] } = {},
  ): Promise<Written> {
    const written = new Written();
    written.generation = await live.open({
      id,
      principal: { name: owner, client: '', admit: () => written.released },
      resumable,
      prepare: async () =>
        scriptedAnswer((gate) => {
          written.gate = gate;
          return written.events;
        }),
      encode: () => encoding(opening),
    });
    return written;
  }

  write(tokens: number): void {
    for (let i = 0; i < tokens; i++) this.events.next(tokenEvent(this.#next++));
  }

  end(): void {
    this.events.next(doneEvent());
    this.events.complete();
  }
}

const me = { name: 'me', client: 'key:me', admit: () => () => {} };

/** @returns what the new reader gets; `null` if nothing is recovered */
function resume(
  live: LiveGenerations,
  offset: number,
  { id = 'a', epoch = live.epoch, principal = me } = {},
) {
  const reader = new Reader();
  const generation = live.find({ id, epoch }, principal);
  if (!generation?.attach(reader, offset)) return null;
  generation.resume(reader);
  return reader;
}

async function started(live: LiveGenerations, options: Parameters<typeof Written.open>[1] = {}) {
  const written = await Written.open(live, options);
  const reader = new Reader();
  written.generation.start(reader);
  return { written, reader };
}

describe('a generation that cannot be resumed', () => {
  it('is sent as it is written, and forgotten at its end', async () => {
    const live = registry();
    const { written, reader } = await started(live, { resumable: false });
    written.write(2);
    expect([live.size, live.historyBytes]).toEqual([1, 0]);
    written.end();
    expect(reader.frames).toEqual(['opening', '0', '1', 'generation.done']);
    expect(reader.told).toEqual(['ended']);
    expect([live.size, written.released.mock.calls.length]).toEqual([0, 1]);
    expect(resume(live, 0)).toBeNull();
  });

  it('ends with its connection', async () => {
    const live = registry();
    const { written, reader } = await started(live, { resumable: false });
    written.generation.detach(reader);
    expect(written.events.observed).toBe(false);
    expect([live.size, written.released.mock.calls.length]).toEqual([0, 1]);
  });
});

describe('a generation that can be resumed', () => {
  it('goes on without a reader until half of its history waits, then waits itself', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    written.generation.detach(reader);
    written.write(3);
    expect(written.gate.open).toBe(true);
    written.write(1);
    expect(written.gate.open).toBe(false);
    const next = resume(live, 1);
    expect(next?.frames).toEqual(['0', '1', '2', '3']);
    expect(written.gate.open).toBe(true);
    written.write(1);
    written.end();
    expect(next?.frames.slice(4)).toEqual(['4', 'generation.done']);
    expect(reader.frames).toEqual(['opening']);
  });

  it('is over if some of it is gone', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    written.write(20);
    written.generation.detach(reader);
    expect(resume(live, 3)).toBeNull();
    expect([live.size, written.events.observed]).toEqual([0, false]);
    expect(resume(live, 20)).toBeNull();
  });

  it('is left alone by other epochs and other owners', async () => {
    const live = registry();
    const { written } = await started(live);
    expect(resume(live, 0, { epoch: registry().epoch })).toBeNull();
    expect(resume(live, 0, { principal: { ...me, name: 'other' } })).toBeNull();
    expect(resume(live, 0, { id: 'b' })).toBeNull();
    expect(written.events.observed).toBe(true);
  });

  it('is taken over from a reader that still seems to be there, again and again', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    written.write(1);
    const second = resume(live, 1);
    const third = resume(live, 0);
    written.write(1);
    expect([reader.told, second?.told, third?.told]).toEqual([['taken_over'], ['taken_over'], []]);
    expect([reader.frames, second?.frames, third?.frames]).toEqual([
      ['opening', '0'],
      ['0'],
      ['opening', '0', '1'],
    ]);
    written.generation.detach(reader); // its connection is found to be gone
    written.write(1);
    expect(third?.frames.at(-1)).toBe('2');
  });

  it('is cancelled when nobody comes in time, and forgotten some time after its end', async () => {
    const live = registry();
    const lost = await started(live);
    lost.written.generation.detach(lost.reader);
    vi.advanceTimersByTime(RESUME_MS - 1);
    expect(lost.written.events.observed).toBe(true);
    vi.advanceTimersByTime(1);
    expect([lost.written.events.observed, live.historyBytes]).toEqual([false, 0]);

    const { written, reader } = await started(live, { id: 'b' });
    written.write(1);
    written.end();
    expect(reader.told).toEqual(['ended']);
    vi.advanceTimersByTime(RESUME_MS - 1);
    const again = resume(live, 1, { id: 'b' });
    expect([again?.frames, again?.told]).toEqual([['0', 'generation.done'], ['ended']]);
    vi.advanceTimersByTime(RESUME_MS);
    expect([resume(live, 1, { id: 'b' }), live.historyBytes]).toEqual([null, 0]);
  });

  it('keeps what a slow reader has not taken, however long that takes', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    written.generation.pause(reader);
    expect(written.gate.open).toBe(false);
    written.write(2);
    written.end();
    vi.advanceTimersByTime(5 * RESUME_MS);
    expect(reader.frames).toEqual(['opening']);
    written.generation.resume(reader);
    expect(reader.frames).toEqual(['opening', '0', '1', 'generation.done']);
    expect(reader.told).toEqual(['ended']);
  });

  it('is not woken by a reader that has lost it, nor put to sleep', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    const second = resume(live, 0)!;
    written.generation.pause(reader);
    expect(written.gate.open).toBe(true);
    written.generation.pause(second);
    written.generation.resume(reader);
    expect(written.gate.open).toBe(false);
    written.write(1);
    expect(second.frames).toEqual(['opening']);
  });

  it('does nothing while a slow reader takes the rest, though it is to be forgotten at once', async () => {
    const live = registry({ streams: { resume_s: 0 } });
    const { written, reader } = await started(live);
    written.generation.pause(reader);
    written.end();
    expect(vi.getTimerCount()).toBe(0);
    written.generation.resume(reader);
    expect(reader.told).toEqual(['ended']);
    vi.advanceTimersByTime(1);
    expect(live.find({ id: 'a', epoch: live.epoch }, me)).toBeNull();
  });

  it('of which nothing was sent ends with its connection: nobody knows its id', async () => {
    const live = registry();
    const { written, reader } = await started(live, { opening: [] });
    written.generation.detach(reader);
    expect(written.events.observed).toBe(false);
  });

  it('fails in band, and before its first frame by a refusal', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    written.events.error(new ApiError('internal_error', 'it broke'));
    expect([reader.frames, reader.told]).toEqual([['opening', 'internal_error'], ['ended']]);
    expect(resume(live, 1)?.frames).toEqual(['internal_error']);

    const silent = await started(live, { id: 'b', opening: [] });
    silent.written.events.error(new ApiError('internal_error', 'it broke'));
    expect([silent.reader.frames, silent.reader.told]).toEqual([[], ['refused: internal_error']]);
    expect(live.size).toBe(0);
  });
});

describe('a fault', () => {
  it('in what is written, or as it starts, is the failure of this generation', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    written.events.next({ ...tokenEvent(0), index: Number.NaN });
    expect([reader.frames, reader.told]).toEqual([['opening', 'internal_error'], ['ended']]);

    const throws = await live.open({
      id: 'b',
      principal: me,
      resumable: false,
      prepare: async () =>
        scriptedAnswer(() => {
          throw new ApiError('internal_error', 'it broke');
        }),
      encode: () => encoding(['opening']),
    });
    const other = new Reader();
    throws.start(other);
    expect([other.frames, other.told]).toEqual([['opening', 'internal_error'], ['ended']]);
    expect(live.size).toBe(0);
  });
});

describe('the bytes of all histories', () => {
  it('are bounded: finished generations are forgotten first, then what others could send again', async () => {
    // As many workers as leave each 1 KiB.
    const live = registry({ bounds: { historyEvents: 1e5 } }, [], 64 << 10);
    const running = await started(live, { id: 'running' });
    const finished = await started(live, { id: 'finished' });
    running.written.write(100);
    finished.written.write(100);
    finished.written.end();
    expect(live.find({ id: 'finished', epoch: live.epoch }, me)).not.toBeNull();
    running.written.write(300);
    expect(live.find({ id: 'finished', epoch: live.epoch }, me)).toBeNull();
    expect(live.historyBytes).toBeLessThan(1024);
    running.written.write(400);
    expect(live.historyBytes).toBeLessThan(1024);
    expect(resume(live, 750, { id: 'running' })?.frames).toHaveLength(51);
  });
});

describe('draining', () => {
  it('takes on no more, and waits for those that run', async () => {
    const live = registry();
    const { written, reader } = await started(live, { resumable: false });
    let drained = false;
    const draining = live.drain(1000).then(() => {
      drained = true;
    });
    await expect(Written.open(live, { id: 'b' })).rejects.toMatchObject({
      status: 503,
      body: { code: 'shutting_down' },
    });
    await vi.advanceTimersByTimeAsync(500);
    expect(drained).toBe(false);
    written.end();
    await draining;
    expect(reader.frames.at(-1)).toBe('generation.done');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends them after the time, and says so in band', async () => {
    const live = registry();
    const { written, reader } = await started(live);
    const draining = live.drain(1000);
    await vi.advanceTimersByTimeAsync(1000);
    await draining;
    expect([reader.frames, reader.told]).toEqual([['opening', 'shutting_down'], ['ended']]);
    expect([written.events.observed, live.size]).toEqual([false, 0]);
  });

  it.each([Number.POSITIVE_INFINITY, 3e9])('waits for %d ms, which no timer can', async (ms) => {
    const live = registry();
    const { written, reader } = await started(live, { resumable: false });
    const draining = live.drain(ms);
    await vi.advanceTimersByTimeAsync(2e9);
    expect(live.size).toBe(1);
    written.end();
    await draining;
    expect(reader.frames.at(-1)).toBe('generation.done');
  });

  it('refuses one that was being prepared when the time was over', async () => {
    const live = registry();
    let go = (): void => {};
    const preparing = live.open({
      id: 'a',
      principal: me,
      resumable: false,
      prepare: () =>
        new Promise((resolve) => {
          go = () => resolve(scriptedAnswer(() => new Subject()));
        }),
      encode: () => expect.unreachable(),
    });
    const draining = live.drain(1000);
    expect(live.size).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    await draining;
    go();
    await expect(preparing).rejects.toMatchObject({ body: { code: 'shutting_down' } });
    expect(live.size).toBe(0);
  });
});

/** Other gateways, which find what is published. */
class Others implements Elsewhere {
  readonly told: string[] = [];
  readonly there: boolean;
  constructor(there: boolean) {
    this.there = there;
  }
  async resume() {
    return null;
  }
  async holds() {
    return false;
  }
  forgetLost(): void {}
  async publish() {
    const tell = (what: string) => () => void this.told.push(what);
    return this.there
      ? { changed: tell('changed'), ended: tell('ended'), forgotten: tell('forgotten') }
      : null;
  }
}

describe('a generation that is published', () => {
  /** Another gateway that reads it. */
  const elsewhere = (patienceMs = 2 * RESUME_MS) => ({ patienceMs, lost: vi.fn() });

  it('is not resumable if it cannot be', async () => {
    const live = registry({}, [new Others(false)]);
    const { written, reader } = await started(live);
    expect(written.generation.resumable).toBe(false);
    written.generation.detach(reader);
    expect([live.size, written.events.observed]).toEqual([0, false]);
  });

  it('is written as far as another gateway reads it, and half of its history', async () => {
    const live = registry({}, [new Others(true)]);
    const { written, reader } = await started(live);
    const other = elsewhere();
    expect(written.generation.sentElsewhere(other, 1)).toBe(true);
    expect(reader.told).toEqual(['taken_over']);
    written.write(4);
    expect(written.gate.open).toBe(false);
    written.generation.sentElsewhere(other, 4);
    expect(written.gate.open).toBe(true);
    expect(other.lost).not.toHaveBeenCalled();
    expect(resume(live, 4)?.frames).toEqual(['3']);
    expect(other.lost.mock.calls.map(([error]) => error.body.code)).toEqual(['taken_over']);
  });

  it('waits for another gateway for as long as that one asks, then for its client', async () => {
    const live = registry({}, [new Others(true)]);
    const { written } = await started(live);
    const other = elsewhere();
    written.generation.sentElsewhere(other, 1);
    vi.advanceTimersByTime(1.5 * RESUME_MS);
    written.generation.sentElsewhere(other, 1);
    vi.advanceTimersByTime(1.5 * RESUME_MS);
    expect(live.size).toBe(1);
    written.generation.leftElsewhere(other);
    vi.advanceTimersByTime(0.9 * RESUME_MS);
    expect(live.size).toBe(1);
    vi.advanceTimersByTime(0.2 * RESUME_MS);
    expect([live.size, written.events.observed]).toEqual([0, false]);
  });
});
