import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StallWatch } from '#src/engine/stall-watch.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watching({ answers }: { readonly answers: boolean }) {
  const seen = { pings: 0, stalls: 0 };
  const watch: StallWatch = new StallWatch({
    limitMs: 1000,
    ping: () => {
      seen.pings += 1;
      if (answers) watch.heard();
    },
    stalled: () => {
      seen.stalls += 1;
    },
  });
  return { watch, seen };
}

describe('a watched process', () => {
  it('has stalled once it has not answered for the limit, which is told once', () => {
    const { seen } = watching({ answers: false });
    vi.advanceTimersByTime(1000);
    expect(seen).toEqual({ pings: 4, stalls: 0 });
    vi.advanceTimersByTime(250);
    expect(seen.stalls).toBe(1);
    vi.advanceTimersByTime(10_000);
    expect(seen).toEqual({ pings: 4, stalls: 1 });
  });

  it('goes on for as long as it answers, or says anything', () => {
    const { watch, seen } = watching({ answers: true });
    vi.advanceTimersByTime(100_000);
    expect(seen.stalls).toBe(0);
    watch.stop();
    const talking = watching({ answers: false });
    for (let i = 0; i < 100; i++) {
      vi.advanceTimersByTime(900);
      talking.watch.heard();
    }
    expect(talking.seen.stalls).toBe(0);
  });

  it('is not blamed for the time in which its watcher stood', async () => {
    vi.useRealTimers();
    const { watch, seen } = watching({ answers: false });
    const until = performance.now() + 1500;
    while (performance.now() < until);
    await setTimeout(20);
    expect(seen).toEqual({ pings: 1, stalls: 0 });
    watch.stop();
  });

  it('is no longer asked once it has ended', () => {
    const { watch, seen } = watching({ answers: false });
    watch.stop();
    vi.advanceTimersByTime(10_000);
    expect(seen).toEqual({ pings: 0, stalls: 0 });
  });
});
