import { describe, expect, it } from 'vitest';
import { axisRoom, axisTicks } from '#web/axis.js';

describe('the axis of the score curve', () => {
  it('grows in steps while the answer is written, and is filled by the finished one', () => {
    expect([0, 1, 32, 33, 64, 65].map((tokens) => axisRoom(tokens, false))).toEqual([32, 32, 32, 64, 64, 96]);
    expect([3, 16, 90].map((tokens) => axisRoom(tokens, true))).toEqual([16, 16, 90]);
  });

  it('labels round token numbers, all within the axis', () => {
    expect(axisTicks(7)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(axisTicks(64)).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(axisTicks(1500)).toEqual([0, 200, 400, 600, 800, 1000, 1200, 1400]);
  });
});
