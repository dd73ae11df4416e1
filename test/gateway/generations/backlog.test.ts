import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Backlog } from '#gateway/generations/backlog.js';
import { Heartbeat } from '#gateway/generations/heartbeat.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Backlog', () => {
  /** One over a limit of 100 bytes, that gives up after a second. */
  function backlog() {
    const client = { waiting: 0, heard: [] as string[] };
    const watched = new Backlog({
      limitBytes: 100,
      stallMs: 1000,
      waiting: () => client.waiting,
      pause: () => client.heard.push('pause'),
      resume: () => client.heard.push('resume'),
      stalled: () => client.heard.push('stalled'),
    });
    const waits = (bytes: number): void => {
      const grows = bytes > client.waiting;
      client.waiting = bytes;
      if (grows) watched.grown();
      else watched.shrunk();
    };
    return { waits, heard: client.heard, watched };
  }

  it('pauses over the limit, and resumes at half of it', () => {
    const { waits, heard, watched } = backlog();
    waits(100);
    expect(heard).toEqual([]);
    waits(101);
    waits(150);
    waits(51);
    expect([heard, watched.full]).toEqual([['pause'], true]);
    waits(50);
    expect([heard, watched.full]).toEqual([['pause', 'resume'], false]);
    vi.advanceTimersByTime(5000);
    expect(heard).toHaveLength(2);
  });

  it('is stalled when nothing was taken for a time', () => {
    const { waits, heard } = backlog();
    waits(200);
    vi.advanceTimersByTime(999);
    expect(heard).toEqual(['pause']);
    vi.advanceTimersByTime(1);
    expect(heard).toEqual(['pause', 'stalled']);
  });

  it('waits on as long as anything is taken', () => {
    const { waits, heard } = backlog();
    waits(200);
    for (let left = 199; left > 190; left--) {
      vi.advanceTimersByTime(900);
      waits(left);
    }
    expect(heard).toEqual(['pause']);
    vi.advanceTimersByTime(2000);
    expect(heard).toEqual(['pause', 'stalled']);
  });

  it('gives no sign once it is closed', () => {
    const { waits, heard, watched } = backlog();
    waits(200);
    watched.close();
    vi.advanceTimersByTime(2000);
    expect(heard).toEqual(['pause']);
  });
});

describe('Heartbeat', () => {
  it('beats when nothing was sent for a period, and not before half of it', () => {
    const beats: number[] = [];
    const heartbeat = new Heartbeat(1000, () => beats.push(performance.now() - start));
    const start = performance.now();
    vi.advanceTimersByTime(3000);
    expect(beats).toEqual([1000, 2000, 3000]);
    for (let i = 0; i < 10; i++) {
      heartbeat.sent();
      vi.advanceTimersByTime(500);
    }
    expect(beats).toHaveLength(3);
    vi.advanceTimersByTime(500);
    expect(beats).toHaveLength(4);
    heartbeat.stop();
    vi.advanceTimersByTime(5000);
    expect(beats).toHaveLength(4);
  });
});
