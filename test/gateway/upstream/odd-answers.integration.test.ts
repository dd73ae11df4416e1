import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { post } from '../../support/gateway.js';
import type { ScriptedReply } from '../../support/scripted-upstream.js';
import { answering, chunk, llamaCppDouble, stopChunk } from '../../support/upstream-doubles.js';
import { body, gatewayBefore, streamed } from '../../support/upstream-gateway.js';

const delta = (delta: object, choice: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
});
const call = (more: unknown) => delta({ tool_calls: more });
const callStart = call([{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }]);
const callPart = (text: unknown) => call([{ index: 0, function: { arguments: text } }]);

async function gatewayOf(write: (reply: ScriptedReply) => void): Promise<string> {
  const script = answering((_, reply) => write(reply.head()));
  return (await gatewayBefore(script, { timeouts: { idle_s: 5 } })).url;
}

const ended = (write: (reply: ScriptedReply) => void) => (reply: ScriptedReply) => {
  write(reply);
  reply.last(stopChunk);
};

const wholeAnswer = z.looseObject({
  choices: z.array(z.looseObject({ index: z.number(), message: z.looseObject({}) })).optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
});

/** Made of the parts of a stream: with the guard off the server would be asked for it. */
const wholeOf = async (url: string, changes: object = {}) =>
  wholeAnswer.parse(await (await post(url, body({ ...changes, stream: false }))).json());

/** What the first choice has of a field, chunk by chunk. */
const deltasOf = ({ chunks }: Awaited<ReturnType<typeof streamed>>, name: string): unknown[] =>
  chunks.flatMap(({ choices }) =>
    (choices ?? []).flatMap(({ delta }) =>
      Object.entries(delta).flatMap(([key, value]) => (key === name ? [value] : [])),
    ),
  );

describe.each([
  ['the guard on', {}],
  ['the guard off', { guard: { enabled: false } }],
])('what is only unknown is passed on, %s', (_, changes) => {
  it.each<[string, unknown]>([
    ['no list', { name: 'f' }],
    ['a text', 'f()'],
    ['a list of texts', ['f()']],
    ['a call without a function', [{ index: 0 }]],
    ['a function that is no object', [{ index: 0, function: 5 }]],
    ['an index that is no number', [{ index: 'one', function: { name: 'f', arguments: '{}' } }]],
    ['arguments that are no text', [{ index: 0, function: { name: 'f', arguments: { city: 'Bern' } } }]],
  ])('a malformed call: %s', async (_, given) => {
    const url = await gatewayOf(
      ended((reply) => reply.data(chunk('One')).data(call(given)).data(chunk(' two'))),
    );
    const answer = await streamed(url, changes);
    expect(answer).toMatchObject({ text: 'One two', done: true, error: null });
    expect(deltasOf(answer, 'tool_calls')).toEqual([given]);
    const { choices } = await wholeOf(url);
    expect(choices).toMatchObject([{ message: { content: 'One two' } }]);
    if (Array.isArray(given) && typeof given[0] === 'string')
      expect(choices).toMatchObject([{ message: { tool_calls: given } }]);
  });

  it('arguments that are no JSON, and a call that is broken off', async () => {
    const url = await gatewayOf(ended((reply) => reply.data(callStart).data(callPart('{"city": "B'))));
    const answer = await streamed(url, changes);
    expect(answer).toMatchObject({ done: true, error: null });
    expect(deltasOf(answer, 'tool_calls')).toHaveLength(2);
    const { choices } = await wholeOf(url);
    expect(choices).toMatchObject([
      {
        message: {
          content: null,
          tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{"city": "B' } }],
        },
      },
    ]);
  });

  it.each<[string, string]>([
    ['with a name', 'event: some.event\ndata: {"type":"some.event","odd":{"deep":1}}\n\n'],
    ['without choices', 'data: {"odd":{"deep":1}}\n\n'],
    ['with choices that are no list', 'data: {"choices":{},"odd":{"deep":1}}\n\n'],
  ])('an unknown event: %s', async (_, event) => {
    const url = await gatewayOf(ended((reply) => reply.data(chunk('One')).write(event).data(chunk(' two'))));
    const answer = await streamed(url, changes);
    expect(answer).toMatchObject({ text: 'One two', done: true, error: null });
    expect(answer.chunks).toContainEqual(expect.objectContaining({ odd: { deep: 1 } }));
    expect(await wholeOf(url)).toMatchObject({
      odd: { deep: 1 },
      choices: [{ message: { content: 'One two' } }],
    });
  });
});

describe.each([
  ['the guard on', {}],
  ['the guard off', { guard: { enabled: false } }],
])('what cannot be passed on ends with upstream_error, after all that was passed, %s', (_, changes) => {
  it.each<[string, (reply: ScriptedReply) => void]>([
    ['an event that is no JSON', (reply) => void reply.last('{"choices": [')],
    ['an event that is no object', (reply) => void reply.last('5')],
    ['an error object', (reply) => void reply.last({ error: { message: 'CUDA', code: 500 } })],
    ['an error text', (reply) => void reply.last({ error: 'CUDA' })],
    ['a text', (reply) => void reply.last('CUDA')],
    ['a reason that is no text', (reply) => void reply.last({ choices: [{ delta: {}, finish_reason: 7 }] })],
    ['a choice that is no object', (reply) => void reply.last({ choices: [5] })],
    [
      'an index of a choice that is no number',
      (reply) => void reply.last(delta({ content: '?' }, { index: 'one' }), stopChunk),
    ],
    [
      'an index of a choice below 0',
      (reply) => void reply.last(delta({ content: '?' }, { index: -1 }), stopChunk),
    ],
    [
      'arguments that are not UTF-8',
      (reply) => {
        const [before = '', after = ''] = JSON.stringify(callPart('?')).split('?');
        const bytes = [Buffer.from(`data: ${before}`), Uint8Array.of(0xc3), Buffer.from(`${after}\n\n`)];
        reply.write(Buffer.concat(bytes)).last(stopChunk);
      },
    ],
    ['the end in the middle of a call', (reply) => reply.end()],
    ['[DONE] in the middle of a call', (reply) => void reply.last()],
    [
      'silence in the middle of a character',
      (reply) => void reply.write(Buffer.from('data: "ü').subarray(0, 8)).finish(),
    ],
  ])('%s', async (_, write) => {
    const url = await gatewayOf((reply) => {
      reply.data(chunk('One')).data(chunk(' two')).data(callStart).data(callPart('{"city'));
      write(reply);
    });
    const answer = await streamed(url, changes);
    expect(answer).toMatchObject({ text: 'One two', done: false, error: { code: 'upstream_error' } });
    expect(answer.error!.message).toMatch(/^(?!.*CUDA).*upstream/);
    expect(deltasOf(answer, 'tool_calls')).toHaveLength(2);
    expect((await wholeOf(url)).error).toMatchObject({ code: 'upstream_error' });
  });
});

it('log-probabilities that are of no text there are named in a warning, once', async () => {
  const other = (text: string) => chunk(text, -1, 'Ġtown');
  const url = await gatewayOf(ended((reply) => reply.data(other('Ulm')).data(other(' old.'))));
  const { chunks } = await streamed(url, { logprobs: true });
  const said = chunks.flatMap(({ flinch }) => flinch?.guard?.warnings ?? []).map(String);
  expect(said.filter((each) => each.includes('could not be matched with its text'))).toHaveLength(1);
});

describe('a server that refuses log-probabilities with tools, as llama.cpp does', () => {
  const REFUSAL = { error: { code: 400, message: 'logprobs is not supported with tools + stream' } };
  const tools = { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] };
  const serving = () => {
    const answer = llamaCppDouble();
    return gatewayBefore((request, reply) =>
      request.body.tools && request.body.logprobs ? reply.json(400, REFUSAL) : answer(request, reply),
    );
  };

  it('answers without scores, and without a verdict', async () => {
    const { url } = await serving();
    const scored = await wholeOf(url, {});
    const unscored = await wholeOf(url, tools);
    expect(unscored.choices![0]!.message.content).toBe(scored.choices![0]!.message.content);
    expect(scored.flinch).toMatchObject({ verdict: { unscored_tokens: 0 } });
    expect(unscored.flinch).toMatchObject({ verdict: { flagged: null, reason: 'unscored_tokens' } });
  });

  it('is believed where the client asks for log-probabilities itself', async () => {
    const { url } = await serving();
    const { error } = await wholeOf(url, { ...tools, logprobs: true });
    expect(error).toMatchObject({ code: 'upstream_refused' });
    expect(error!.message).toContain('logprobs is not supported');
  });

  it('is asked again, as a whole, for nothing else that it refuses', async () => {
    const { url, upstream } = await serving();
    await wholeOf(url, {});
    const before = upstream.requests.length;
    const refused = await wholeOf(url, { ...tools, logprobs: true });
    expect(refused.error).toBeDefined();
    expect(upstream.requests.slice(before).filter(({ body }) => body.tools)).toHaveLength(2);
  });
});
