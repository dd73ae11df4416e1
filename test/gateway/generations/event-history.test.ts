import { describe, expect, it } from 'vitest';
import { EventHistory } from '#gateway/generations/event-history.js';

/** With the frames `0`, `1`, … and the first of them sent. */
function history(frames: number, sent: number, limits = { events: 8, bytes: 1000 }): EventHistory {
  const history = new EventHistory(limits);
  for (let i = 0; i < frames; i++) {
    history.push(String(i));
    if (i < sent) history.take();
  }
  return history;
}

const rest = (history: EventHistory): string[] => {
  const frames: string[] = [];
  for (let frame = history.take(); frame !== undefined; frame = history.take()) frames.push(frame);
  return frames;
};

describe('EventHistory', () => {
  it('gives each frame once, in order, and all from an offset on again', () => {
    const kept = history(5, 0);
    expect(rest(kept)).toEqual(['0', '1', '2', '3', '4']);
    expect(kept.allSent).toBe(true);
    expect(kept.rewind(3)).toBe(true);
    expect(rest(kept)).toEqual(['3', '4']);
    expect(kept.rewind(5)).toBe(true);
    expect(rest(kept)).toEqual([]);
  });

  it('forgets the oldest that were sent, and says that they are gone', () => {
    const kept = history(12, 12);
    expect(kept.rewind(3)).toBe(false);
    expect(kept.rewind(4)).toBe(true);
    expect(rest(kept)).toEqual(['4', '5', '6', '7', '8', '9', '10', '11']);
  });

  it('shows what is there from an offset on, sent or not', () => {
    const kept = history(12, 6);
    expect(kept.first).toBe(4);
    expect(kept.from(4, 3)).toEqual(['4', '5', '6']);
    expect(kept.from(10, 100)).toEqual(['10', '11']);
    expect(kept.from(12, 100)).toEqual([]);
    expect(kept.from(3, 100)).toBeNull();
    expect(rest(kept)[0]).toBe('6');
  });

  it('knows of no offset beyond its end', () => {
    expect(history(5, 5).rewind(6)).toBe(false);
  });

  it('never forgets what was not sent, and is crowded when that takes half of the room', () => {
    expect(history(3, 0).crowded).toBe(false);
    const kept = history(20, 2);
    expect(kept.crowded).toBe(true);
    expect(rest(kept)).toHaveLength(18);
    expect(kept.crowded).toBe(false);
  });

  it('counts bytes, not characters', () => {
    const kept = new EventHistory({ events: 100, bytes: 10 });
    kept.push('ééé'); // six bytes
    expect([kept.bytes, kept.crowded]).toEqual([6, true]);
    kept.take();
    expect(kept.crowded).toBe(false);
    kept.push('ééé');
    expect([kept.bytes, kept.rewind(0)]).toEqual([6, false]);
  });

  it('makes room by half, of what was sent', () => {
    const kept = history(8, 8);
    kept.halve();
    expect([kept.rewind(3), kept.rewind(4)]).toEqual([false, true]);
    kept.halve();
    expect(rest(kept)).toHaveLength(4);
  });
});
