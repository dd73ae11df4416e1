import { describe, expect, it } from 'vitest';
import { passStart } from '#src/uncertainty/schedule.js';

describe('passStart', () => {
  // Tokens 100 to 107 are new: their pass ends at position 106.
  it.each([
    { schedule: { kind: 'windowed', block: 8, window: 64 }, attacked: true, start: 43 },
    { schedule: { kind: 'windowed', block: 8, window: 8 }, attacked: true, start: 99 },
    { schedule: { kind: 'windowed', block: 8, window: 200 }, attacked: true, start: 0 },
    { schedule: { kind: 'windowed', block: 8, window: 'all' }, attacked: true, start: 0 },
    { schedule: { kind: 'windowed', block: 8, window: 64 }, attacked: false, start: 99 },
    { schedule: { kind: 'offline' }, attacked: true, start: 0 },
  ] as const)('$schedule, attacked: $attacked', ({ schedule, attacked, start }) => {
    expect(passStart(schedule, { from: 100, to: 108, attacked })).toBe(start);
  });
});
