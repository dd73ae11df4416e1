import type { Dispatcher } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Exchange } from '#gateway/upstream/exchange.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function answered() {
  const aborted: Error[] = [];
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (error) => void aborted.push(error),
    pause: () => {},
    resume: () => {},
  };
  const exchange = new Exchange({
    firstByteMs: 60_000,
    idleMs: 60_000,
    responseBytes: 1000,
    signal: new AbortController().signal,
  });
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  exchange.onResponseData(controller, Buffer.from('data: [DONE]\n\n'));
  return { exchange, aborted };
}

describe('an answer that is whole', () => {
  it('is waited for, to its end, a short time', async () => {
    const { exchange, aborted } = answered();
    exchange.leave();
    exchange.cancel();
    await vi.advanceTimersByTimeAsync(1900);
    expect(aborted).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(aborted.length).toBe(1);
  });

  it('leaves its connection as it is where it ends', async () => {
    const { exchange, aborted } = answered();
    exchange.leave();
    await vi.advanceTimersByTimeAsync(1000);
    exchange.onResponseEnd();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(aborted).toEqual([]);
  });
});
