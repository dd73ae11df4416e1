import { describe, expect, it } from 'vitest';
import { mergeTokens, post, readChunks, TestSocket, useGateway } from '../../support/gateway.js';
import { QUESTION } from '../../support/requests.js';
import { streamed, upstreamGateway } from '../../support/upstream-gateway.js';

/** A gateway with the embedded model, which is the upstream of another. */
const far = useGateway();

const near = async () =>
  upstreamGateway([], { upstreams: [{ url: `${far.url}/v1`, model: 'reasoner' }], retries: 0 });

const question = { messages: [{ role: 'user', content: QUESTION }], temperature: 0 };

const direct = async (changes: object = {}) => {
  const { chunks, done } = await readChunks(
    await post(far.url, { model: 'reasoner', stream: true, ...question, ...changes }),
  );
  expect(done).toBe(true);
  return { tokens: mergeTokens(chunks), last: chunks.at(-1)! };
};

/** Without what was known of the prompt: it is known the second time. */
const counts = (usage: object | null | undefined) => ({ ...usage, prompt_tokens_details: undefined });

describe('flinch as the upstream of flinch', () => {
  it('is found out to tell log-probabilities, and to continue by token ids', async () => {
    const { status } = await near();
    await expect.poll(status).toMatchObject({
      upstreams: [{ reachable: true, capabilities: { tokenIds: 'none', logprobs: 20, resume: 'tokens' } }],
    });
  });

  it('has over SSE the same tokens, log-probabilities and scores by them', async () => {
    const { url } = await near();
    const expected = await direct({ stream_options: { include_usage: true } });
    const { chunks, text, done } = await streamed(url, {
      ...question,
      stream_options: { include_usage: true },
    });
    expect(done).toBe(true);
    expect(chunks[0]?.flinch?.guard).toMatchObject({
      methods: ['nll', 'entropy', 'margin'],
      method: 'entropy',
    });
    expect(text).toBe(expected.tokens.map((token) => token.text).join(''));
    const scored = chunks.flatMap(({ flinch }) => flinch?.tokens ?? []).filter(({ scores }) => scores);
    expect(scored.map((token) => token.text)).toEqual(expected.tokens.map((token) => token.text));
    scored.forEach(({ scores, logprob }, i) => {
      const there = expected.tokens[i]!;
      expect(logprob).toBeCloseTo(there.logprob, 4);
      expect(scores!.nll).toBeCloseTo(there.scores!.nll!, 3);
      expect(scores!.margin).toBeCloseTo(there.scores!.margin!, 3);
      // Of the 20 most probable tokens alone, and so never more.
      expect(scores!.entropy).toBeCloseTo(there.scores!.entropy!, 1);
      expect(scores!.entropy).toBeLessThan(there.scores!.entropy! + 1e-3);
    });
    expect(counts(chunks.at(-1)!.usage)).toEqual(counts(expected.last.usage));
  });

  it('has over WebSocket the same, in order', async () => {
    const { url } = await near();
    const expected = await direct();
    const socket = await TestSocket.open(url);
    socket.send({ type: 'generation.create', model: 'm', ...question });
    const done = await socket.event(({ type }) => type === 'generation.done');
    expect(done).toMatchObject({ finish_reason: 'stop' });
    expect(socket.events.map(({ offset }) => offset)).toEqual(socket.events.map((_, i) => i));
    const texts = socket.events.filter(({ type }) => type === 'token.delta').map(({ text }) => text);
    expect(texts).toEqual(expected.tokens.map(({ text }) => text));
    expect(socket.events.filter(({ type }) => type === 'score.delta')).toHaveLength(texts.length);
    socket.close();
  });
});
