import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ScriptedReply, scriptedUpstream } from '../../../support/scripted-upstream.js';
import { ask, httpOf } from '../../../support/upstream-http.js';

/** Those of sockets go on. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** An answer that says that it is whole, and goes on. */
async function answered() {
  const replies: ScriptedReply[] = [];
  const upstream = await scriptedUpstream((_, reply) => void replies.push(reply.head().data('[DONE]')));
  const http = httpOf(upstream.url);
  const exchange = await ask(http);
  const [reply] = replies;
  const closed = vi.fn();
  reply!.closed.then(closed);
  /** What was on its way before has arrived when another connection has been made and answered. */
  const arrived = () => ask(httpOf(upstream.url));
  return { upstream, http, exchange, reply: reply!, closed, arrived };
}

describe('an answer that is whole', () => {
  it('is waited for, to its end, a short time', async () => {
    const { exchange, reply, closed, arrived } = await answered();
    exchange.leave();
    exchange.cancel();
    await vi.advanceTimersByTimeAsync(1900);
    await arrived();
    expect(closed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    await reply.closed;
  });

  it('holds its connection no longer by sending on', async () => {
    const { exchange, reply, arrived } = await answered();
    exchange.leave();
    for (let ms = 0; ms < 2100; ms += 300) {
      reply.write(': still here\n\n');
      await arrived();
      await vi.advanceTimersByTimeAsync(300);
    }
    await reply.closed;
  });

  it('leaves its connection to the next request where it ends', async () => {
    const { upstream, http, exchange, reply, arrived } = await answered();
    exchange.leave();
    await vi.advanceTimersByTimeAsync(1000);
    reply.end();
    await arrived();
    await vi.advanceTimersByTimeAsync(60_000);
    const connections = upstream.accepted;
    await ask(http);
    expect(upstream.accepted).toBe(connections);
  });
});
