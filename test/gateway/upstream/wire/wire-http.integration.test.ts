import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Script, type ScriptedReply, scriptedUpstream } from '../../../support/scripted-upstream.js';
import { ask, bodyOf, httpOf } from '../../../support/upstream-http.js';

/** More than waits for a reader, and no more than comes at once after that: all is read when the connection ends. */
const BODY = 'x'.repeat(100_000);

const FRAMINGS = {
  'a length': `Content-Length: ${BODY.length}\r\nConnection: close\r\n\r\n`,
  'a length, by a server that said it would stay': `Content-Length: ${BODY.length}\r\n\r\n`,
  'the end of the connection': 'Connection: close\r\n\r\n',
};

/** Long enough for all that was sent to arrive, and for what follows from it. */
const nobodyReads = () => setTimeout(200);

describe('a connection that ends while nobody reads', () => {
  const cases = Object.entries(FRAMINGS).flatMap(([framing, head]) =>
    [200, 401, 500].map((status) => ({ status, framing, head })),
  );

  it.each(cases)('loses nothing: status $status, body until $framing', async ({ status, head }) => {
    const upstream = await scriptedUpstream((_, reply) => {
      reply.raw(`HTTP/1.1 ${status} Status\r\n${head}${BODY}`);
      reply.finish();
    });
    const exchange = await ask(httpOf(upstream.url));
    await nobodyReads();
    expect(exchange.status).toBe(status);
    expect(await bodyOf(exchange)).toBe(BODY);
  });

  it.each([
    ['a length', `Content-Length: ${BODY.length + 1}\r\nConnection: close\r\n\r\n${BODY}`],
    ['chunks', `Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n`],
  ])('too early is an error: %s', async (_, answer) => {
    const upstream = await scriptedUpstream((_, reply) => {
      reply.raw(`HTTP/1.1 200 OK\r\n${answer}`);
      reply.finish();
    });
    const exchange = await ask(httpOf(upstream.url));
    await nobodyReads();
    await expect(bodyOf(exchange)).rejects.toMatchObject({ code: 'upstream_error' });
  });
});

describe('connections', () => {
  /** Answers each request, and keeps the connections of those. */
  async function answering(script: Script = (_, reply) => reply.head().end()) {
    const replies: ScriptedReply[] = [];
    const upstream = await scriptedUpstream((request, reply) => {
      replies.push(reply);
      return script(request, reply);
    });
    const http = httpOf(upstream.url);
    const answered = async (): Promise<void> => void (await bodyOf(await ask(http)));
    return { upstream, http, replies, answered };
  }

  it('serve one request after the other', async () => {
    const { upstream, answered } = await answering();
    for (let i = 0; i < 5; i++) await answered();
    expect(upstream.accepted).toBe(1);
  });

  it('that the server has reset since are not used', async () => {
    const { upstream, replies, answered } = await answering();
    await answered();
    await setTimeout(10); // the beginning of a turn of the event loop, so that only the next would hear of it
    replies[0]!.cut();
    await answered();
    expect(upstream.accepted).toBe(2);
  });

  it('that the server ends while the next request is on its way are replaced, once', async () => {
    const cutAt = new Set([1]);
    let requests = 0;
    const { upstream, answered } = await answering((_, reply) =>
      cutAt.has(requests++) ? reply.cut() : reply.head().end(),
    );
    await answered();
    await answered();
    expect([upstream.accepted, requests]).toEqual([2, 3]);
    cutAt.add(3).add(4);
    await expect(answered()).rejects.toMatchObject({ code: 'upstream_unreachable', reason: 'ECONNRESET' });
    expect([upstream.accepted, requests]).toEqual([3, 5]);
    // A new connection says for itself whether the server is there.
    cutAt.add(5);
    await expect(answered()).rejects.toMatchObject({ code: 'upstream_unreachable', reason: 'ECONNRESET' });
    expect([upstream.accepted, requests]).toEqual([4, 6]);
  });

  it('that do not come to stand in time are an error', async () => {
    const upstream = await scriptedUpstream(() => {}); // no TLS
    const http = httpOf(upstream.url.replace('http:', 'https:'), { connectMs: 50 });
    await expect(ask(http)).rejects.toMatchObject({ code: 'upstream_unreachable', reason: 'ETIMEDOUT' });
  });

  it('are cut at an answer without end', async () => {
    const upstream = await scriptedUpstream((_, reply) => void reply.head().write('x'.repeat(9000)));
    const answer = ask(httpOf(upstream.url, { responseBytes: 8192 })).then(bodyOf);
    await expect(answer).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('wait where nobody reads', async () => {
    const part = Buffer.alloc(1 << 20, 'x');
    let sent = 0;
    const { http } = await answering(async (_, reply) => {
      reply.raw('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
      for (; sent < 60; sent++) await reply.taken(part);
    });
    const exchange = await ask(http);
    await nobodyReads();
    expect(sent).toBeLessThan(30); // the system's own buffers
    exchange.cancel();
  });

  it('close when a request is aborted, and when no more are made', async () => {
    const { http, replies } = await answering((_, reply) => void reply.head().data('One'));
    const abort = new AbortController();
    const aborted = await ask(http, abort.signal);
    await aborted.read();
    abort.abort(new Error('enough'));
    await expect(aborted.read()).rejects.toThrow('enough');
    await replies[0]!.closed;
    const ended = await ask(http);
    await ended.read();
    http.close();
    await expect(ended.read()).rejects.toMatchObject({ code: 'upstream_error' });
    await replies[1]!.closed;
    await expect(ask(http)).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('that are handed over to another protocol are an error', async () => {
    const { http } = await answering((_, reply) =>
      reply.raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'),
    );
    await expect(ask(http)).rejects.toMatchObject({ code: 'upstream_unreachable' });
  });
});
