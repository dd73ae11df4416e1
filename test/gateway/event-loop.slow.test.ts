import { once } from 'node:events';
import { createServer } from 'node:http';
import { platform } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressIn, type Running, start, useFolder } from '../support/cli.js';
import { TestSocket } from '../support/gateway.js';
import { REASONER } from '../support/golden.js';

/**
 * No input holds the event loop longer than this, and so nobody else's stream. What counts is the processor time of the
 * main thread in one turn of its loop, as the kernel tells it: however busy a machine is, waiting does not add to it.
 * What used to hold the loop took seconds.
 */
const BUDGET_MS = 100;
/** A shared core computes more slowly, and what runs for the first time is interpreted. */
const LOADED = 3;

/** Prints at SIGUSR2 the most processor time of a turn since the last signal, in milliseconds. */
const TURNS = `
import { readFileSync } from 'node:fs';
const used = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'latin1').split(' ')[0]) / 1e6;
let [last, longest] = [used(), 0];
const turn = () => {
  longest = Math.max(longest, used() - last);
  last = used();
  setImmediate(turn).unref();
};
setImmediate(turn).unref();
process.on('SIGUSR2', () => {
  process.stderr.write('longest turn ' + longest + '\\n');
  longest = 0;
});`;

const folder = useFolder();
const listOf = (count: number, entry: string): string => `[${Array(count).fill(entry).join(',')}]`;
const fields = Object.fromEntries(Array.from({ length: 80_000 }, (_, i) => [`k${i}`, 1]));
const MARKS = `a${'\u0301\u0323'.repeat(100_000)}`;

const token = (others: number): string => {
  const one = '{"token":"x ","logprob":-0.1,"bytes":null';
  return `${one},"top_logprobs":${listOf(others, `${one}}`)}}`;
};
const event = (content: string, logprobs = 'null', finish = 'null'): string =>
  `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"logprobs":${logprobs},"finish_reason":${finish}}]}\n\n`;
const tokens = (count: number, others: number): string =>
  event('x '.repeat(count), `{"content":${listOf(count, token(others))}}`);

const parts = (count: number, chunk: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `data: ${chunk(i)}\n\n`).join('');
const name = (i: number): string => `"name${i}":1`;
const inDelta = (field: string): string => `{"choices":[{"index":0,"delta":{${field}}}]}`;

/** What the upstream answers, in one write. */
const ANSWERS: Readonly<Record<string, string>> = {
  'one token': tokens(1, 1),
  '30,000 tokens in one chunk': tokens(30_000, 1),
  '4096 tokens in one chunk': tokens(4096, 1),
  '700 tokens with 20 alternatives': tokens(700, 20),
  '340,000 empty entries': event('x', `{"content":${listOf(340_000, '{}')}}`),
  'combining marks': event(MARKS),
  'sentences of a chunk of 900 kB': event('Twelve and 3. '.repeat(64_000)),
  'nested lists': `data: ${'['.repeat(400_000)}${']'.repeat(400_000)}\n\n`,
  '6000 empty chunks': event('').repeat(6000),
  '150,000 chunks that say nothing': 'data: {}\n\n'.repeat(150_000),
  comments: ': x\n\n'.repeat(500_000),
  '4000 new fields': parts(
    4000,
    (i) => `{${name(i)},"choices":[{"index":0,"delta":{"content":" w",${name(i)}}}]}`,
  ),
  '4000 tool calls': parts(4000, (i) =>
    inDelta(`"tool_calls":[{"index":${i},"function":{"arguments":"{}"}}]`),
  ),
  '20,000 parts of a reasoning': parts(20_000, () => inDelta('"reasoning":" w"')),
  '20,000 items of a list': parts(20_000, (i) => inDelta(`"list":[{"a":${i}}]`)),
  'one token longer than its text, again and again': parts(
    6000,
    () =>
      `{"choices":[{"index":0,"delta":{"content":"w"},"logprobs":{"content":[{"token":"wwwwww","logprob":-1}]}}]}`,
  ),
};

const upstream = createServer(async (request, response) => {
  if (request.method === 'GET') return void response.end('{"object":"list","data":[]}');
  let body = '';
  for await (const part of request) body += part;
  const name = Object.keys(ANSWERS).find((each) => body.includes(JSON.stringify(each)));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${ANSWERS[name ?? 'one token']}${event('', 'null', '"stop"')}data: [DONE]\n\n`);
});

describe.runIf(platform() === 'linux')('the event loop of the gateway', () => {
  let server: Running;
  let url = '';
  beforeAll(async () => {
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const address = upstream.address();
    const upstreams = [{ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1` }];
    const models = {
      own: { checkpoint: REASONER },
      passed: { upstreams },
      scored: { upstreams, scorer: REASONER },
    };
    const config = folder.write('flinch.yaml', JSON.stringify({ listen: { port: 0 }, models }));
    server = start(['serve', '--config', config, '--log-level', 'error'], null, {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TURNS)}`,
    });
    url = await addressIn(server);
  });
  afterAll(() => {
    server?.child.kill('SIGKILL');
    upstream.closeAllConnections();
    upstream.close();
  });

  async function longestTurn(): Promise<number> {
    const at = server.stderr().length;
    server.child.kill('SIGUSR2');
    for (;;) {
      const [, longest] = /longest turn ([\d.]+)\n/.exec(server.stderr().slice(at)) ?? [];
      if (longest !== undefined) return Number(longest);
      await setTimeout(5);
    }
  }

  /** The shorter of two times: the first may hold what is done once. */
  async function held(work: () => Promise<unknown>): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < 2; round++) {
      await longestTurn();
      await work();
      times.push(await longestTurn());
    }
    return Math.min(...times);
  }

  const send = (path: string, body: unknown): Promise<Response> =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const asked = async (path: string, body: unknown): Promise<unknown> => (await send(path, body)).text();
  const chat = (model: string, content: string, more: object = {}) =>
    asked('/v1/chat/completions', {
      model,
      stream: true,
      max_tokens: 4,
      messages: [{ role: 'user', content }],
      ...more,
    });

  it.each(Object.keys(ANSWERS))('is free for others while an upstream sends: %s', async (name) => {
    for (const model of ['passed', 'scored'])
      expect(await held(() => chat(model, name))).toBeLessThan(LOADED * BUDGET_MS);
    for (const guard of [{}, { enabled: false }])
      expect(await held(() => chat('passed', name, { stream: false, guard }))).toBeLessThan(
        LOADED * BUDGET_MS,
      );
  });

  it.each(
    Object.entries<() => Promise<unknown>>({
      'a prompt of 1 MB': () => chat('own', 'word 12. '.repeat(110_000)),
      'combining marks': () => chat('own', MARKS),
      'a short prompt of combining marks': () => chat('own', `a${'\u0301\u0323'.repeat(2000)}`),
      '80,000 fields': () => chat('passed', 'one token', fields),
      '80,000 settings': () => chat('own', 'x', { guard: fields }),
      '20,000 tools': () =>
        chat('passed', 'one token', {
          tools: Array(20_000).fill({ type: 'function', function: { name: 'f' } }),
        }),
      '25,000 messages': () =>
        asked('/v1/chat/completions', {
          model: 'own',
          messages: Array(25_000).fill({ role: 'user', content: 'x' }),
        }),
      'a list of 200,000 texts': () => chat('own', 'x', { stop: Array(200_000).fill('x') }),
      'a prompt of /v1/completions': () =>
        asked('/v1/completions', { model: 'own', prompt: 'word 12. '.repeat(110_000), max_tokens: 2 }),
      'a message of 1 MB over a WebSocket': async () => {
        const socket = await TestSocket.open(url);
        const messages = [{ role: 'user', content: 'x'.repeat(1_000_000) }];
        socket.send({ type: 'generation.create', request_id: 'a', model: 'own', messages, n: 'many' });
        await socket.event(({ type }) => type === 'error');
        socket.close();
      },
    }),
  )('is free for others while a client sends: %s', async (_name, work) => {
    expect(await held(work)).toBeLessThan(LOADED * BUDGET_MS);
  });

  it.each([
    ['nested lists', '['.repeat(500_000) + ']'.repeat(500_000), 'nests deeper than 1000 levels'],
    ['lists without end', '['.repeat(1_000_000), 'nests deeper than 1000 levels'],
    ['fields', JSON.stringify({ a: fields }), 'has more than 4096 fields in one object'],
    ['objects', listOf(300_000, '{}'), 'has more than 65536 lists and objects'],
  ])('is free for others while a client sends %s, which are refused', async (_name, body, problem) => {
    const refused = async (): Promise<unknown> => {
      const response = await send('/v1/chat/completions', body);
      return { status: response.status, ...(await response.json()) };
    };
    expect(await refused()).toMatchObject({
      status: 400,
      error: { code: 'invalid_json', message: `the body ${problem}` },
    });
    expect(await held(refused)).toBeLessThan(LOADED * BUDGET_MS);
  });
});
