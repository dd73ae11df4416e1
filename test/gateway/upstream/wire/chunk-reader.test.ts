import { describe, expect, it } from 'vitest';
import { UpstreamError } from '#gateway/upstream/upstream-error.js';
import { ChunkReader } from '#gateway/upstream/wire/chunk-reader.js';

/** A body that never pauses: the next of these is there whenever it is asked for. */
function readerOf(bodies: Iterable<string>): ChunkReader {
  const parts = bodies[Symbol.iterator]();
  const exchange = {
    read: async () => {
      const { done, value } = parts.next();
      return done ? null : Buffer.from(value);
    },
    leave: () => {},
    patience: { firstMs: 30, nextMs: 30 },
    timeout: new UpstreamError('upstream_timeout', 'late'),
  };
  const form = { isResponse: false, verbatim: false, whole: false };
  return new ChunkReader(exchange, form, () => null);
}

/** Its text; more than so many parts were read for nothing. */
function* forever(part: string): Generator<string> {
  for (let i = 0; i < 100_000; i++) yield part;
  throw new Error('it is read for ever');
}

async function textOf(reader: ChunkReader): Promise<string> {
  let text = '';
  for (let chunks = await reader.read(); chunks; chunks = await reader.read())
    for (const chunk of chunks) text += chunk.text;
  return text;
}

const event = (choice: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
const ANSWER = event({ delta: { content: 'Ulm' } }) + event({ delta: {}, finish_reason: 'stop' });

describe('an answer that comes without a pause', () => {
  it.each(['x', 'data: ', ': at work\n', 'data: {}\n\n', event({ delta: { content: '' } })])(
    'has a time limit while it says nothing: %j',
    async (part) => {
      await expect(textOf(readerOf(forever(part)))).rejects.toMatchObject({ code: 'upstream_timeout' });
    },
  );

  it('has none while it says something', async () => {
    const many = Array.from({ length: 20_000 }, () => event({ delta: { content: 'Ulm ' } }));
    expect(await textOf(readerOf([...many, ANSWER]))).toHaveLength(80_003);
  });
});

describe('the end of an answer', () => {
  it.each(['[DONE]', ' [DONE] ', '[DONE]\t', '\u00a0[DONE]'])(
    'may have white space around it: %j',
    async (done) => {
      expect(await textOf(readerOf([ANSWER, `data: ${done}\n\n`, 'data: no chunk\n\n']))).toBe('Ulm');
    },
  );

  it.each(['ping', 'DONE', '[done]', '5', '[]'])('is no other word: %j', async (data) => {
    await expect(textOf(readerOf([ANSWER, `data: ${data}\n\n`]))).rejects.toMatchObject({
      code: 'upstream_error',
    });
  });
});

it('parts of a content come in their order, also within one chunk', async () => {
  const text = (text: string) => ({ type: 'text', text });
  const content = [text('a'), text('b'), { type: 'reference', reference_ids: [1] }, text('c')];
  const reader = readerOf([event({ delta: { content }, finish_reason: 'stop' })]);
  const chunks = (await reader.read()) ?? [];
  expect(chunks.map(({ text, parts, finishReason }) => [text, parts.length, finishReason])).toEqual([
    ['ab', 0, null],
    ['', 1, null],
    ['c', 0, 'stop'],
  ]);
});
