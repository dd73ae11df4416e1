import { getMaxListeners } from 'node:events';
import { expect, it, onTestFinished, vi } from 'vitest';
import { interruptible } from '#bench/run/interrupt.js';

it('hands on a signal that any number of requests may listen to', async () => {
  let most: number | undefined;
  await interruptible('go on', async ({ signal }) => {
    most = getMaxListeners(signal);
  });
  expect(most).toBe(Number.POSITIVE_INFINITY);
});

it('leaves work that does not end after a signal', async () => {
  vi.useFakeTimers();
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  let end = (): void => {};
  const working = interruptible('go on', async ({ signal }) => {
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    signal.throwIfAborted();
  });
  process.emit('SIGINT');
  await vi.advanceTimersByTimeAsync(1000);
  expect(exit).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  expect(exit).toHaveBeenCalledExactlyOnceWith(130);
  end();
  await working;
});
