import { describe, expect, it } from 'vitest';
import { Estimates } from '#gateway/models/estimates.js';

describe('Estimates', () => {
  it('are one for each client and its settings', () => {
    const estimates = new Estimates();
    const own = estimates.of('a', 'x');
    expect(estimates.of('a', 'x')).toBe(own);
    expect(estimates.of('a', 'y')).not.toBe(own);
    expect(estimates.of('b', 'x')).not.toBe(own);
  });

  it('cost a client of many settings its own, the least recently used first', () => {
    const estimates = new Estimates();
    const modest = estimates.of('b', 'x');
    const first = estimates.of('a', '0');
    const second = estimates.of('a', '1');
    for (let i = 2; i < 300; i++) {
      estimates.of('a', String(i));
      expect(estimates.of('a', '1')).toBe(second);
    }
    expect(estimates.of('b', 'x')).toBe(modest);
    expect(estimates.of('a', '0')).not.toBe(first);
  });

  it('are forgotten by the client that has been away for longest, where each has one', () => {
    const estimates = new Estimates();
    const first = estimates.of('client 0', 'x');
    const second = estimates.of('client 1', 'x');
    for (let i = 2; i < 300; i++) {
      estimates.of(`client ${i}`, 'x');
      expect(estimates.of('client 1', 'x')).toBe(second);
    }
    expect(estimates.of('client 0', 'x')).not.toBe(first);
  });
});
