import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FairSlots, type Release } from '#gateway/access/fair-slots.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const WAIT_MS = 30_000;

/** Takes all places for a client, which then gets no more. */
function fill(places: FairSlots, client: string, most: number): Release[] {
  const taken = Array.from({ length: most }, () => places.take(client));
  return taken.map((place) => {
    if (typeof place !== 'function') throw new Error('no place');
    return place;
  });
}

describe('FairPlaces', () => {
  it('lets one client have all, and refuses it more at once', () => {
    const places = new FairSlots(4);
    const taken = fill(places, 'a', 4);
    expect(places.take('a')).toBeNull();
    taken[0]?.();
    taken[0]?.();
    expect(places.take('a')).toBeTypeOf('function');
    expect(places.take('a')).toBeNull();
  });

  it('gives the next place to who has less than their share, though another asks all the time', async () => {
    const places = new FairSlots(4);
    const taken = fill(places, 'greedy', 4);
    const modest = places.take('modest');
    expect(modest).toBeInstanceOf(Promise);
    expect(places.take('greedy')).toBeNull();
    taken[0]?.();
    expect(places.take('greedy')).toBeNull();
    expect(await modest).toBeTypeOf('function');
  });

  it('serves all of 40 requests beside 24 loops that ask again at once', async () => {
    const places = new FairSlots(16);
    let over = false;
    const loops = Array.from({ length: 24 }, async () => {
      while (!over) {
        const release = await places.take('greedy');
        for (let i = 0; i < 5; i++) await null;
        release?.();
      }
    });
    for (let i = 0; i < 40; i++) {
      const release = await places.take('modest');
      expect(release).not.toBeNull();
      release?.();
    }
    over = true;
    await Promise.all(loops);
  });

  it('comes to equal shares where both want all', async () => {
    const places = new FairSlots(4);
    const greedy = fill(places, 'greedy', 4);
    const second = [places.take('b'), places.take('b')];
    expect(places.take('b')).toBeNull();
    greedy[0]?.();
    greedy[1]?.();
    expect(await Promise.all(second)).toEqual([expect.any(Function), expect.any(Function)]);
    expect(places.take('greedy')).toBeNull();
    // Below its share it may wait, too.
    greedy[2]?.();
    expect(places.take('greedy')).toBeTypeOf('function');
  });

  it('lets one request of each client wait where there are more clients than places', async () => {
    const places = new FairSlots(1);
    const [release] = fill(places, 'a', 1);
    const waiting = [places.take('b'), places.take('c')];
    expect([places.take('b'), places.take('a')]).toEqual([null, null]);
    release?.();
    const first = await waiting[0]!;
    first?.();
    expect(await waiting[1]).toBeTypeOf('function');
  });

  it('ends the wait after some time, and forgets who waited', async () => {
    const places = new FairSlots(1);
    const [release] = fill(places, 'a', 1);
    const waiting = places.take('b');
    vi.advanceTimersByTime(WAIT_MS);
    expect(await waiting).toBeNull();
    release?.();
    expect(places.take('a')).toBeTypeOf('function');
  });
});
