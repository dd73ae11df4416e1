import { getMaxListeners } from 'node:events';
import { expect, it } from 'vitest';
import { interruptible } from '#bench/run/interrupt.js';

it('hands on a signal that any number of requests may listen to', async () => {
  let most: number | undefined;
  await interruptible('go on', async ({ signal }) => {
    most = getMaxListeners(signal);
  });
  expect(most).toBe(Number.POSITIVE_INFINITY);
});
