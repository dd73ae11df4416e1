import { describe, expect, it } from 'vitest';
import { Alignment } from '#gateway/upstream/alignment/alignment.js';
import { UpstreamError } from '#gateway/upstream/upstream-error.js';
import { openCheckpoint } from '#src/index.js';
import { checkpointFolder } from '../../support/golden.js';
import { LLAMA_CPP, type Recording, recordings } from '../../support/recordings.js';
import {
  type ScriptedReply,
  type ScriptedRequest,
  scriptedUpstream,
} from '../../support/scripted-upstream.js';
import { said } from '../../support/upstream-contract/said.js';
import { isProbe } from '../../support/upstream-doubles.js';
import { clientOf, open, readAll } from '../../support/upstream-server.js';

const recorded = recordings(LLAMA_CPP);

function replay({ status, type, body }: Recording, reply: ScriptedReply): void {
  reply.head(status, { 'content-type': type }).write(body).end();
}

/** As the recorded server answers the probe's requests, whose bodies are the recorded ones; and one recording to others. */
async function serving(name: string) {
  let probes = 0;
  const asked: ScriptedRequest[] = [];
  const upstream = await scriptedUpstream((request, reply) => {
    if (!isProbe(request)) return replay(recorded[name]!, reply);
    asked.push(request);
    replay(recorded[`probe-${++probes}`]!, reply);
  });
  return { server: clientOf(upstream.url, {}, { model: 'reasoner' }), asked };
}

async function read(name: string, stop: readonly string[] = []) {
  const { server } = await serving(name);
  const response = await open(server, { stop });
  const answer = await readAll(response);
  expect(answer.error).toBeNull();
  const tokens = answer.pieces.flatMap((piece) => piece.tokens ?? []);
  const pieces = answer.pieces.filter(({ beside }) => !beside);
  return { ...answer, pieces, ...response.end(), tokens, expected: said(recorded[name]!.body) };
}

const short = ({ pieces }: Awaited<ReturnType<typeof read>>) =>
  pieces.map(({ text, tokens }) => [text, tokens?.map((token) => token.text) ?? null]);

const { tokenizer } = await openCheckpoint(checkpointFolder('tiny-llama'));

/** With a scorer that has the vocabulary of the recorded model, as the tiny models have. */
function idsOf({ pieces }: Awaited<ReturnType<typeof read>>): (number | null)[] {
  const alignment = new Alignment(tokenizer, false);
  return [...pieces.flatMap((piece) => alignment.push(piece)), ...alignment.end()].map(({ id }) => id);
}

describe('a recorded llama.cpp', () => {
  it('is probed as when it was recorded, with what it can do', async () => {
    const { server, asked } = await serving('chat');
    expect(await server.probe()).toEqual({ tokenIds: 'return_tokens', logprobs: 20, resume: 'tokens' });
    expect(asked.map(({ path, body }) => ({ path, body }))).toEqual(
      [1, 2, 3, 4, 5].map((i) => recorded[`probe-${i}`]!.request),
    );
  });

  it.each(['chat', 'chat-that-ends', 'completion', 'continue-final-message'])(
    'describes each token: %s',
    async (name) => {
      const answer = await read(name);
      const { expected, tokens } = answer;
      expect(answer.text).toBe(expected.text);
      expect(tokens.map(({ text }) => text).join('')).toBe(expected.text);
      expect(tokens.map(({ id }) => id)).toEqual(expected.ids);
      expect(tokens.map(({ logprob }) => logprob)).toEqual(expected.logprobs);
      expect(tokens.every(({ topLogprobs }) => topLogprobs.length === 2)).toBe(true);
      expect(answer.finishReason).toBe(expected.finishReason);
      expect(answer.usage).toEqual({
        promptTokens: expected.usage!.prompt_tokens,
        completionTokens: expected.usage!.completion_tokens,
      });
      expect(idsOf(answer)).toEqual(expected.ids);
    },
  );

  it('describes of what a stop string might have begun only the last token, which is not believed', async () => {
    const answer = await read('chat-with-stop', ['11 + 6']);
    expect(answer.text).toContain('start: 11 - 3');
    expect(short(answer)).toContainEqual(['11 -', null]);
    expect(answer.pieces.filter(({ tokens }) => tokens === null)).toHaveLength(1);
    expect(idsOf(answer)).toEqual(tokenizer.encode(answer.text));
  });

  it('tells all tokens of that in a completion, the last with the text', async () => {
    const answer = await read('completion-with-stop', [' + 3']);
    expect(short(answer)[0]).toEqual([' + 1', ['', '', ' + 1']]);
    expect(idsOf(answer)).toEqual(tokenizer.encode(answer.text));
  });

  it('leaves half of a token before a stop string, which is still that token', async () => {
    const answer = await read('chat-with-stop-within-a-token', ['rt']);
    expect(answer.text).toMatch(/We sta$/);
    expect(idsOf(answer).at(-1)).toBe(tokenizer.encode(' start')[0]);
  });

  it('loses at max_tokens what it held back', async () => {
    const { text, usage, finishReason } = await read('chat-cut-while-held-back', ['compute 9']);
    expect(text).toBe("Let's work through it.\nFirst,");
    expect([finishReason, usage?.completionTokens]).toEqual(['length', 10]);
  });

  it('describes of a character of several tokens only the last, which is not believed', async () => {
    const answer = await read('chat-of-characters');
    expect(answer.usage?.completionTokens).toBe(12);
    expect(short(answer)).toEqual(Array.from({ length: 4 }, () => ['🦙', null]));
  });

  it('repeats a last message that it continues', async () => {
    expect((await read('prefilled-message')).text).toMatch(/^First, 11/);
  });

  it('tells of reasoning apart, and not of the marks around it; the log-probabilities of the rest are known', async () => {
    const answer = await read('reasoning');
    const [first, last] = answer.pieces.filter(({ hidden }) => hidden);
    expect([first?.tokens, last?.text]).toEqual([null, 'The']);
    const thought = answer.tokens.filter(({ part }) => part === 'reasoning');
    expect(thought.map(({ text }) => text).join('')).toBe(' + 6 is 7.\n');
    expect(answer.text).toBe('The answer is 7.');
    const said = answer.tokens.filter(({ part }) => !part);
    expect(said.map(({ text }) => text)).toEqual(['The', ' answer', ' is', ' ', '7', '.']);
    const lagging = await read('reasoning', ['!']);
    expect(lagging).toMatchObject({ text: 'The answer is 7.', tokens: [] });
  });

  it('leaves reasoning in the text where it is told to', async () => {
    const answer = await read('reasoning-in-the-text');
    expect(answer.text).toBe('<think>\n1 + 6 is 7.\n</think>\n\nThe answer is 7.');
    expect(answer.tokens.map(({ text }) => text).join('')).toBe(answer.text);
    expect(answer.pieces.some(({ hidden }) => hidden)).toBe(false);
  });

  it.each([
    ['refused-prompt', 'upstream_refused', 'messages', 'exceeds the available context size (512 tokens)'],
    ['refused-type', 'upstream_refused', null, 'type must be number, but is string'],
    ['refused-both', 'upstream_refused', null, 'Cannot set both add_generation_prompt'],
    ['refused-ids', 'upstream_refused', null, 'Prompt contains invalid tokens'],
    ['refused-path', 'upstream_not_found', null, ''],
  ])('%s is %s', async (name, code, param, message) => {
    const { server } = await serving(name);
    await server.probe();
    const error = await open(server).catch((caught: unknown) => caught);
    if (!(error instanceof UpstreamError)) throw error;
    expect([error.code, error.body.param]).toEqual([code, param]);
    expect(error.message).toContain(message);
  });
});
