import { describe, expect, it } from 'vitest';
import { PerClient } from '#gateway/answers/per-client.js';

describe('PerClient', () => {
  it('has a value for each client and its settings', () => {
    const values = new PerClient(() => ({}));
    const own = values.of('a', 'x');
    expect(values.of('a', 'x')).toBe(own);
    expect(values.of('a', 'y')).not.toBe(own);
    expect(values.of('b', 'x')).not.toBe(own);
  });

  it('costs a client of many settings its own values, the least recently used first', () => {
    const values = new PerClient(() => ({}));
    const modest = values.of('b', 'x');
    const first = values.of('a', '0');
    const second = values.of('a', '1');
    for (let i = 2; i < 300; i++) {
      values.of('a', String(i));
      expect(values.of('a', '1')).toBe(second);
    }
    expect(values.of('b', 'x')).toBe(modest);
    expect(values.of('a', '0')).not.toBe(first);
  });

  it('forgets the client that has been away for longest, where each has one value', () => {
    const values = new PerClient(() => ({}));
    const first = values.of('client 0', 'x');
    const second = values.of('client 1', 'x');
    for (let i = 2; i < 300; i++) {
      values.of(`client ${i}`, 'x');
      expect(values.of('client 1', 'x')).toBe(second);
    }
    expect(values.of('client 0', 'x')).not.toBe(first);
  });
});
