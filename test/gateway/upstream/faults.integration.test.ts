import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  JSON_TYPE,
  type Script,
  type ScriptedReply,
  SSE,
  scriptedUpstream,
} from '../../support/scripted-upstream.js';
import { answering, chunk, stopChunk } from '../../support/upstream-doubles.js';
import { gatewayBefore, streamed, upstreamGateway } from '../../support/upstream-gateway.js';

/** Some tests wait for them to pass; long enough for the probe of a server that is only slow. */
const TIMEOUTS = { timeouts: { first_byte_s: 0.5, idle_s: 0.5 }, retries: 0 };
const PATIENT = { retries: 0 };

const answered = async (script: Script, changes: object = PATIENT, request: object = {}) => {
  const { url } = await gatewayBefore(answering(script), changes);
  return streamed(url, request);
};

/** An answer of three tokens, whole. */
const whole = (reply: ScriptedReply): void =>
  reply.head().last(chunk('One'), chunk(' two'), chunk(' three'), stopChunk);

const tokensOf = ({ chunks }: Awaited<ReturnType<typeof streamed>>) =>
  chunks.flatMap(({ flinch }) => flinch?.tokens ?? []);

describe('before the first byte a fault is a status of its own', () => {
  it('refused: 502 upstream_unreachable', async () => {
    const upstream = await scriptedUpstream(() => {});
    await upstream.close();
    const gateway = await upstreamGateway([upstream.url], PATIENT);
    const { status, error } = await streamed(gateway.url);
    expect(status).toBe(502);
    expect(error).toMatchObject({ code: 'upstream_unreachable' });
  });

  it.each<[string, number, string, Script, object?]>([
    ['a black hole', 504, 'upstream_timeout', () => {}, TIMEOUTS],
    ['silence after 200', 504, 'upstream_timeout', (_, reply) => void reply.head(), TIMEOUTS],
    ['a connection that is cut', 502, 'upstream_unreachable', (_, reply) => reply.cut()],
    ['no HTTP', 502, 'upstream_error', (_, reply) => reply.raw('SSH-2.0-OpenSSH_9.6\r\n\r\n')],
    ['a whole response for a stream', 502, 'upstream_error', (_, reply) => reply.json(200, { choices: [] })],
    [
      'a compressed answer, which was not asked for',
      502,
      'upstream_error',
      (_, reply) =>
        reply
          .head(200, { ...SSE, 'content-encoding': 'gzip' })
          .write('x')
          .end(),
    ],
    ['status 404', 502, 'upstream_not_found', (_, reply) => reply.json(404, {})],
  ])('%s: %i %s', async (_, status, code, script, changes) => {
    expect(await answered(script, changes)).toMatchObject({ status, error: { code } });
  });

  it('a black hole from the start: 504 upstream_timeout', async () => {
    const { url } = await gatewayBefore(() => {}, TIMEOUTS);
    expect(await streamed(url)).toMatchObject({ status: 504, error: { code: 'upstream_timeout' } });
  });

  it.each([200, 500, 502])(
    'an HTML page with status %i: 502 upstream_error, nothing of the page',
    async (status) => {
      const { error, ...answer } = await answered((_, reply) =>
        reply.head(status, { 'content-type': 'text/html' }).write('<h1>It works on their-host</h1>').end(),
      );
      expect(answer.status).toBe(502);
      expect(error).toMatchObject({ code: 'upstream_error' });
      expect(error!.message).not.toContain('It works');
    },
  );

  it.each([301, 302, 307, 308])(
    'a redirect with status %i: 502 upstream_error, and not followed',
    async (status) => {
      const other = await scriptedUpstream(answering((_, reply) => whole(reply)));
      const answer = await answered((_, reply) =>
        reply
          .head(status, { location: `${other.url}/chat/completions` })
          .write('')
          .end(),
      );
      expect(answer).toMatchObject({ status: 502, error: { code: 'upstream_error' } });
      expect(other.requests).toEqual([]);
    },
  );

  it.each([401, 403])('status %i: 502 upstream_unauthorized', async (status) => {
    const answer = await answered((_, reply) =>
      reply.json(status, { error: { message: 'key sk-1 is wrong' } }),
    );
    expect(answer).toMatchObject({ status: 502, error: { code: 'upstream_unauthorized' } });
    expect(answer.error!.message).not.toContain('sk-1');
  });

  it.each([
    [400, { error: { message: 'temperature is too high' } }],
    [400, { error: 'temperature is too high' }],
    [413, { message: 'temperature is too high' }],
    [422, { detail: [{ msg: 'temperature is too high' }] }],
  ])('status %i: 400 upstream_refused, with what the server says: %j', async (status, said) => {
    const answer = await answered((_, reply) => reply.json(status, said));
    expect(answer).toMatchObject({ status: 400, error: { code: 'upstream_refused' } });
    expect(answer.error!.message).toContain('temperature is too high');
  });

  it('what a server says is shortened, and has no control characters', async () => {
    const answer = await answered((_, reply) =>
      reply.json(400, { error: { message: `a\n\u001b[31m${'b'.repeat(9999)}` } }),
    );
    expect(answer.error!.message).toMatch(/: a \[31mb+…$/);
    expect(answer.error!.message.length).toBeLessThan(400);
  });

  it('a refusal whose body is too large says nothing, and whose body stalls is a timeout', async () => {
    const large = await answered((_, reply) => reply.json(400, { error: { message: 'c'.repeat(70_000) } }));
    expect(large).toMatchObject({ status: 400, error: { message: 'the upstream refused the request' } });
    const stalled = await answered((_, reply) => void reply.head(400, JSON_TYPE).write('{'), TIMEOUTS);
    expect(stalled).toMatchObject({ status: 504, error: { code: 'upstream_timeout' } });
  });

  it.each([
    ['99999999999', '60'],
    ['Fri, 31 Dec 9999 23:59:59 GMT', '60'],
    ['Thu, 01 Jan 1970 00:00:00 GMT', '1'],
    ['-5', '1'],
    ['soon', '1'],
    ['1e9', '1'],
    ['7', '7'],
  ])('429 with Retry-After: %s: 503 upstream_overloaded, and to wait %s s', async (asked, told) => {
    const answer = await answered((_, reply) => reply.json(429, {}, { 'retry-after': asked }));
    expect(answer).toMatchObject({ status: 503, error: { code: 'upstream_overloaded' } });
    expect(answer.headers.get('retry-after')).toBe(told);
  });
});

describe('after the first byte a fault is an error within, and there is no [DONE]', () => {
  const begun = (script: (reply: ScriptedReply) => void, changes: object = PATIENT, request: object = {}) =>
    answered((_, reply) => script(reply.head().data(chunk('One'))), changes, request);

  it('comments for longer than the limits do no harm to an answer that goes on', async () => {
    const answer = await begun(async (reply) => {
      for (const text of [' two', ' three', ' four', ' five']) {
        for (let i = 0; i < 8; i++) await sleep(20).then(() => reply.write(': at work\n\n'));
        reply.data(chunk(text));
      }
      reply.last(stopChunk);
    }, TIMEOUTS);
    expect(answer).toMatchObject({ text: 'One two three four five', done: true });
  });

  const entries = (length: number) =>
    Array.from({ length }, () => ({ token: 'x', logprob: -1, top_logprobs: [] }));

  it.each<[string, object]>([
    ['tokens', { delta: { content: 'x'.repeat(4097) }, logprobs: { content: entries(4097) } }],
    ['empty entries', { delta: { content: 'x' }, logprobs: { content: Array(300_000).fill({}) } }],
    ['ids', { delta: { content: 'x' }, token_ids: Array(4097).fill(1) }],
    ['tool calls', { delta: { tool_calls: Array(300_000).fill({}) } }],
  ])('too many %s in a chunk: upstream_error', async (_, choice) => {
    const answer = await begun((reply) => reply.data({ choices: [{ index: 0, ...choice }] }));
    expect(answer).toMatchObject({ text: 'One', done: false, error: { code: 'upstream_error' } });
    expect(answer.error!.message).toMatch(/ more than (4096 tokens|65536 lists)/);
  });

  it('too many tool calls in all chunks together: upstream_error', async () => {
    const said = (index: number) => ({ choices: [{ index: 0, delta: { tool_calls: [{ index }] } }] });
    const messages = Array.from({ length: 5000 }, (_, i) => `data: ${JSON.stringify(said(i))}\n\n`).join('');
    for (const request of [{}, { stream: false }]) {
      const answer = await begun((reply) => reply.write(messages), PATIENT, request);
      expect(answer).toMatchObject({ done: false, error: { code: 'upstream_error' } });
      expect(answer.error!.message).toMatch(/ more than 4096 choices .*in one answer/);
    }
  });

  it('as many tokens as a chunk may have', async () => {
    const choice = { delta: { content: 'x'.repeat(4096) }, logprobs: { content: entries(4096) } };
    const answer = await begun((reply) => reply.last({ choices: [{ index: 0, ...choice }] }, stopChunk));
    expect(answer).toMatchObject({ text: `One${'x'.repeat(4096)}`, done: true });
  });

  const call = { tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] };

  it.each<[string, (reply: ScriptedReply) => void, object?]>([
    ['a stall', () => {}, TIMEOUTS],
    ['text after the finish_reason', (reply) => reply.last(stopChunk, chunk(' two'))],
    [
      'a tool call after the finish_reason',
      (reply) => reply.last(stopChunk, { choices: [{ index: 0, delta: call }] }),
    ],
    ['a cut between events', (reply) => setImmediate(() => reply.cut())],
    [
      'a cut within an event',
      (reply) => {
        reply.write('data: {"choices":[{"delta":{"content":" tw');
        setTimeout(() => reply.cut(), 20);
      },
    ],
    ['a cut after the reason, without [DONE]', (reply) => reply.data(stopChunk).cut()],
    [
      'an event of lines without end',
      (reply) => {
        for (let i = 0; i < 400; i++) reply.write(`data: ${'x'.repeat(50_000)}\n`);
      },
    ],
  ])('%s: an error', async (name, script, changes) => {
    const code = name === 'a stall' ? 'upstream_timeout' : 'upstream_error';
    const answer = await begun(script, changes);
    expect(answer).toMatchObject({ status: 200, done: false, error: { code } });
    expect(answer.text).toMatch(/^(One( \d+)*)?$/);
  });

  it('a line without end: upstream_error, and the connection is closed', async () => {
    const closed: Promise<void>[] = [];
    const answer = await begun((reply) => {
      closed.push(reply.closed);
      reply.write('data: ');
      for (let i = 0; i < 40; i++) reply.write('x'.repeat(500_000));
    }, PATIENT);
    expect(answer).toMatchObject({ text: 'One', done: false, error: { code: 'upstream_error' } });
    await closed[0];
  });
});

describe('what looks odd and is right', () => {
  const TEXT = 'Größe: 漢字 😀!';
  const payloads = [chunk('Größe:'), chunk(' 漢字'), chunk(' 😀!'), stopChunk].map((each) =>
    JSON.stringify(each),
  );
  it('a byte order mark, comments, other fields, events with names, a space less', async () => {
    const answer = await answered((_, reply) => {
      reply.head().write('\uFEFF').write(': ping\n\n').write('retry: 10\nid: 4\nfoo: bar\n\n');
      for (const data of payloads) reply.write(`event: message\ndata:${data}\n\n: ping\n\n`);
      reply.last();
    });
    expect(answer).toMatchObject({ text: TEXT, done: true, error: null });
  });

  it('a connection that stays open after [DONE]', async () => {
    const answer = await answered(
      (_, reply) => void reply.head().data(chunk('One')).data(stopChunk).data('[DONE]'),
    );
    expect(answer).toMatchObject({ text: 'One', done: true });
  });
});

describe('log-probabilities that are not there, or not of the text', () => {
  it('missing: the tokens pass unscored, and so does their step, which has no verdict', async () => {
    const answer = await answered((_, reply) =>
      reply.head().last(chunk('One'), chunk(' two.\n', null), chunk('Three.'), stopChunk),
    );
    expect(answer).toMatchObject({ text: 'One two.\nThree.', done: true });
    const scored = tokensOf(answer).filter((token) => token.scores);
    expect(scored.map(({ scores, missing }) => ({ nll: scores!.nll, missing }))).toEqual([
      { nll: 0.1, missing: undefined },
      { nll: undefined, missing: ['nll', 'margin'] },
      { nll: 0.1, missing: undefined },
    ]);
    const steps = answer.chunks.flatMap(({ flinch }) => flinch?.events ?? []);
    expect(steps).toMatchObject([
      { type: 'step.done', step: 0, score: null, risk: null, flagged: false },
      { type: 'step.done', step: 1, score: 0.1, risk: null, flagged: false },
    ]);
  });

  it('misaligned: never those of another token', async () => {
    const answer = await answered((_, reply) =>
      reply.head().last(chunk('One', -0.1), chunk(' two', -0.2, ' three'), chunk(' three', -0.3), stopChunk),
    );
    expect(answer).toMatchObject({ text: 'One two three', done: true });
    expect(tokensOf(answer).map(({ text, logprob }) => [text, logprob])).toEqual([
      ['One', -0.1],
      [' two', null],
      [' three', -0.3],
    ]);
  });

  it.each([[null], ['-0.1'], [5], [{}]])('a log-probability of %j is none', async (logprob) => {
    const answer = await answered((_, reply) => {
      const choice = { delta: { content: 'One' }, logprobs: { content: [{ token: 'One', logprob }] } };
      reply.head().last({ choices: [choice] }, stopChunk);
    });
    expect(answer).toMatchObject({ text: 'One', done: true });
    expect(tokensOf(answer)[0]).toMatchObject({ text: 'One', logprob: null });
  });
});
