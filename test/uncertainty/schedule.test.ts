import { describe, expect, it } from 'vitest';
import { passRange, passSize } from '#src/uncertainty/schedule.js';

describe('passRange', () => {
  // Tokens 100 to 107 are new: their pass ends at position 106.
  it.each([
    { schedule: { kind: 'windowed', block: 8, window: 64 }, attacked: true, start: 43 },
    { schedule: { kind: 'windowed', block: 8, window: 8 }, attacked: true, start: 99 },
    { schedule: { kind: 'windowed', block: 8, window: 200 }, attacked: true, start: 0 },
    { schedule: { kind: 'windowed', block: 8, window: 'all' }, attacked: true, start: 0 },
    { schedule: { kind: 'windowed', block: 8, window: 64 }, attacked: false, start: 99 },
    { schedule: { kind: 'offline' }, attacked: true, start: 0 },
  ] as const)('$schedule, attacked: $attacked', ({ schedule, attacked, start }) => {
    expect(passRange(schedule, 40, { from: 100, to: 108, attacked })).toEqual({ start });
  });

  // The same pass with the last positions of a prompt of 40 tokens, the first of which is 24.
  it.each([
    { window: 64, lead: [24, 40], start: 43 },
    { window: 67, start: 24 },
    { window: 100, start: 7 },
    { window: 'all', start: 0 },
  ] as const)('window $window and 16 positions of the prompt', ({ window, ...range }) => {
    const pass = { from: 100, to: 108, attacked: true };
    expect(passRange({ kind: 'windowed', block: 8, window, prompt: 16 }, 40, pass)).toEqual(range);
    const unattacked = passRange({ kind: 'windowed', block: 8, window, prompt: 16 }, 40, {
      ...pass,
      attacked: false,
    });
    expect(unattacked).toEqual({ start: 99 });
  });

  it('takes a prompt that is shorter whole', () => {
    const schedule = { kind: 'windowed', block: 8, window: 8, prompt: 1000 } as const;
    const range = passRange(schedule, 40, { from: 100, to: 108, attacked: true });
    expect(range).toEqual({ start: 99, lead: [0, 40] });
    expect(passSize(schedule, 500)).toBe(500);
    expect(passSize({ ...schedule, prompt: 40 }, 500)).toBe(48);
  });
});
