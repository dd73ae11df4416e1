import { lastValueFrom, tap, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { UpstreamWriter } from '#gateway/upstream/servers/upstream-writer.js';
import type { UpstreamPiece } from '#gateway/upstream/upstream.js';
import { FlowGate } from '#src/stream/flow-gate.js';
import { openTokenizer, type Tokenizer } from '#src/tokenizer/tokenizer.js';
import { fixture } from '../../../support/graphs.js';

const tokenizer = await openTokenizer(fixture('tiny-llama'), { vocabSize: 640 });

/** A writer whose server answers in these pieces. */
function writing(pieces: readonly UpstreamPiece[], scorer: Tokenizer | null): UpstreamWriter {
  const come = [pieces];
  const answer = {
    promptIds: [1],
    read: async () => come.shift() ?? null,
    end: () => ({ finishReason: 'stop' as const, usage: null }),
    cancel: () => {},
  };
  const server = { open: () => Promise.reject(new Error('not asked')) };
  const request = { messages: [], sampling: {}, stop: [], topLogprobs: 0 };
  const signal = new AbortController().signal;
  return new UpstreamWriter(
    { server, answer },
    { request, tokenizer: scorer, promptIds: [1], prompt: null, room: 1e6, signal },
  );
}

/** The tokens that it writes, and the most of them without a turn of the event loop. */
async function written(pieces: readonly UpstreamPiece[], scorer: Tokenizer | null) {
  let [most, since, running] = [0, 0, true];
  const turn = (): void => {
    since = 0;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  const events = await lastValueFrom(
    writing(pieces, scorer)
      .tokens(new FlowGate())
      .pipe(
        tap(({ type }) => {
          since += type === 'token.delta' ? 1 : 0;
          most = Math.max(most, since);
        }),
        toArray(),
      ),
  );
  running = false;
  const tokens = events.flatMap((event) => (event.type === 'token.delta' ? [event] : []));
  return { most, tokens, text: tokens.map(({ text }) => text).join('') };
}

const token = (text: string) => ({ id: null, text, logprob: -1, topLogprobs: [] });

describe('UpstreamWriter', () => {
  it('lets others have their turn while it passes on the many tokens of one chunk', async () => {
    const tokens = Array.from({ length: 4096 }, (_, i) => token(`${i} `));
    const text = tokens.map((one) => one.text).join('');
    const got = await written([{ text, tokens, ids: null }], null);
    expect(got.tokens).toHaveLength(4096);
    expect(got.most).toBeLessThanOrEqual(256);
  });

  it('tokenises a long text of one chunk part by part', async () => {
    const text = 'Two and 3 are 5. 👍 é '.repeat(3000);
    const { tokens, text: all, most } = await written([{ text, tokens: null, ids: null }], tokenizer);
    expect(all).toBe(text);
    expect(tokens.map(({ id }) => id)).toEqual(tokenizer.encode(text));
    expect(most).toBeLessThan(tokens.length / 10);
  });

  it('passes on a long text of one chunk part by part', async () => {
    const text = '👍 é 1. Two. '.repeat(3000);
    const got = await written([{ text, tokens: null, ids: null }], null);
    expect(got.text).toBe(text);
    expect(got.tokens).toHaveLength(Math.ceil([...text].length / 4096));
    expect(got.most).toBe(1);
  });

  it('lets others have their turn while it passes on long tokens', async () => {
    const tokens = Array.from({ length: 100 }, () => token('x'.repeat(2000)));
    const got = await written([{ text: 'x'.repeat(200_000), tokens, ids: null }], null);
    expect(got.tokens).toHaveLength(100);
    expect(got.most).toBeLessThan(5);
  });

  it('leaves a word without end unscored instead of encoding it again and again', async () => {
    const pieces = Array.from({ length: 2000 }, () => ({ text: 'a'.repeat(50), tokens: null, ids: null }));
    const { tokens, text } = await written([{ text: 'One ', tokens: null, ids: null }, ...pieces], tokenizer);
    expect(text).toBe(`One ${'a'.repeat(100_000)}`);
    expect(tokens[0]?.id).not.toBeNull();
    expect(tokens.at(-1)?.id).toBeNull();
  });
});
