import { setImmediate } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { Delivery, type DeliveryOptions } from '#gateway/webhooks/delivery.js';
import type { PostOutcome } from '#gateway/webhooks/post.js';

const SECRET = `whsec_${Buffer.from('a secret of twenty-four bytes').toString('base64')}`;
const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
const message = (step: number) => ({ type: 'flag', data: { step } }) as const;

/** A receiver that answers so, and what came of messages to it. */
function deliveryTo(
  answer: (tries: number) => PostOutcome | Promise<PostOutcome>,
  options: Partial<DeliveryOptions> = {},
) {
  const posts: { readonly headers: Readonly<Record<string, string>>; readonly body: string }[] = [];
  const outcomes: unknown[] = [];
  const waits: number[] = [];
  let end = (): void => {};
  const closed = new Promise<PostOutcome>((resolve) => {
    end = () => resolve({ reason: 'closed' });
  });
  const delivery = new Delivery({
    key,
    poster: {
      post: async (headers, body) => {
        posts.push({ headers, body });
        return Promise.race([answer(posts.length), closed]);
      },
      close: () => end(),
    },
    outcome: (event, outcome, why) => outcomes.push([event, outcome, ...(why ? [why] : [])]),
    wait: async (ms) => void waits.push(ms),
    ...options,
  });
  return { delivery, posts, outcomes, waits };
}
const never = () => new Promise<PostOutcome>(() => {});
const pause = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await setImmediate();
};

describe('a message to a webhook', () => {
  it('is signed so that the library of Standard Webhooks accepts it, and no other', async () => {
    const { delivery, posts } = deliveryTo(() => ({ status: 204 }));
    delivery.push(message(3));
    await pause();
    const { headers, body } = posts[0]!;
    const receiver = new Webhook(SECRET);
    expect(receiver.verify(body, headers)).toEqual({
      type: 'flag',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { step: 3 },
    });
    expect(() => receiver.verify(body.replace('3', '4'), headers)).toThrow('signature');
    expect(() => new Webhook(Buffer.alloc(32).toString('base64')).verify(body, headers)).toThrow('signature');
  });

  it('is tried four times under one id, with longer and longer pauses', async () => {
    const { delivery, posts, outcomes, waits } = deliveryTo((tries) =>
      tries < 3 ? { status: 500 } : { reason: 'ECONNREFUSED' },
    );
    delivery.push(message(0));
    await pause();
    expect(waits).toEqual([1000, 5000, 30_000]);
    expect(posts).toHaveLength(4);
    expect(new Set(posts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(outcomes).toEqual([['flag', 'failed', { reason: 'ECONNREFUSED' }]]);
  });

  it('is over with the first try that succeeds', async () => {
    const { delivery, posts, outcomes } = deliveryTo((tries) => ({
      status: [429, 503, 200][tries - 1] ?? 0,
    }));
    delivery.push(message(0));
    await pause();
    expect(posts).toHaveLength(3);
    expect(outcomes).toEqual([['flag', 'delivered']]);
  });

  it.each([301, 307, 400, 401, 410])('is not sent again after %i', async (status) => {
    const { delivery, posts, outcomes } = deliveryTo(() => ({ status }));
    delivery.push(message(0));
    await pause();
    expect(posts).toHaveLength(1);
    expect(outcomes).toEqual([['flag', 'failed', { status }]]);
  });

  it('is dropped where too many wait', async () => {
    const { delivery, posts, outcomes } = deliveryTo(never, { most: 6 });
    for (let step = 0; step < 8; step++) delivery.push(message(step));
    expect(posts).toHaveLength(4);
    expect(outcomes).toEqual([
      ['flag', 'dropped'],
      ['flag', 'dropped'],
    ]);
  });
});

describe('the end of a gateway', () => {
  it('is waited for by what is left, which is tried once more without a pause', async () => {
    const wait = (_: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    const { delivery, posts, outcomes } = deliveryTo((tries) => ({ status: tries <= 4 ? 500 : 200 }), {
      wait,
    });
    for (let step = 0; step < 6; step++) delivery.push(message(step));
    await pause();
    expect(posts).toHaveLength(4);
    await delivery.close(10_000);
    expect(outcomes).toEqual(Array.from({ length: 6 }, () => ['flag', 'delivered']));
    delivery.push(message(7));
    expect(outcomes.at(-1)).toEqual(['flag', 'dropped']);
  });

  it('comes in time where the receiver hangs; what is left is dropped, each once', async () => {
    const { delivery, outcomes } = deliveryTo(never);
    for (let step = 0; step < 6; step++) delivery.push(message(step));
    const began = performance.now();
    await delivery.close(50);
    await delivery.close(0);
    await pause();
    expect(performance.now() - began).toBeLessThan(5000);
    expect(outcomes).toEqual(Array.from({ length: 6 }, () => ['flag', 'dropped']));
  });
});
