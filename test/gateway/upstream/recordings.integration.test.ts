import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { UpstreamRequest } from '#gateway/upstream/upstream.js';
import { type Recording, recordings, VLLM } from '../../support/recordings.js';
import { type Script, scriptedUpstream } from '../../support/scripted-upstream.js';
import { said } from '../../support/upstream-contract/said.js';
import { isProbe, vllmDouble } from '../../support/upstream-doubles.js';
import { clientOf, open, readAll } from '../../support/upstream-server.js';

const RECORDED = recordings(VLLM);
const recorded = (name: string): Recording => {
  const found = RECORDED[name];
  if (!found) throw new Error(`no recording ${name}`);
  return found;
};

/** A server that was probed, and answers then as was recorded, in packets of so many bytes. */
async function replaying({ status, type, body }: Recording, packet = 1000) {
  const probed = vllmDouble();
  const script: Script = (request, reply) => {
    if (isProbe(request)) return probed(request, reply);
    reply.head(status, { 'content-type': type });
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += packet) reply.write(bytes.subarray(at, at + packet));
    reply.end();
  };
  const upstream = await scriptedUpstream(script);
  return clientOf(upstream.url);
}

const IDS = { text: 'The sky is', promptIds: [504], ids: [6376, 314] };
const TEXT = { text: 'The sky is', promptIds: null, ids: null };

describe('what vLLM 0.32.0 answered is read as it was meant', () => {
  it.each<[string, Partial<UpstreamRequest>]>([
    ['chat', {}],
    ['chat-that-ends', {}],
    ['chat-with-stop', { stop: ['on lies'] }],
    ['chat-of-characters', {}],
    ['continue-final-message', { prefix: TEXT }],
    ['completion', { prefix: IDS }],
  ])('%s', async (name, request) => {
    const recording = recorded(name);
    const meant = said(recording.body);
    for (const packet of [1, 1000]) {
      const answer = await open(await replaying(recording, packet), request);
      const { pieces, text, error } = await readAll(answer);
      expect({ error, text, promptIds: answer.promptIds }).toEqual({
        error: null,
        text: meant.text,
        promptIds: meant.promptIds,
      });
      const tokens = pieces.flatMap(({ tokens }) => tokens ?? []);
      const described = tokens.map((token) => token.text).join('');
      // A stop string that begins within a token leaves a text that is none.
      expect(name === 'chat-with-stop' ? `${described} questi` : described).toBe(meant.text);
      // Those that end the answer, or were cut off with a stop string, have no text.
      expect(tokens.map(({ id }) => id)).toEqual(meant.ids.slice(0, tokens.length));
      expect(tokens.map(({ logprob }) => logprob)).toEqual(meant.logprobs.slice(0, tokens.length));
      expect(answer.end()).toEqual({
        finishReason: meant.finishReason,
        usage: {
          promptTokens: meant.usage?.prompt_tokens,
          completionTokens: meant.usage?.completion_tokens,
        },
      });
    }
  });

  it('reasoning is beside the text, with the tokens that it is made of', async () => {
    const { pieces, text, error } = await readAll(await open(await replaying(recorded('reasoning'))));
    expect({ text, error }).toEqual({ text: '', error: null });
    const meant = said(recorded('reasoning').body);
    const tokens = pieces.flatMap(({ tokens }) => tokens ?? []);
    expect(tokens.map(({ part }) => part)).toEqual(tokens.map(() => 'reasoning'));
    // But for the one that ended the answer.
    expect(tokens.map(({ id }) => id)).toEqual(meant.ids.slice(0, -1));
    expect(tokens.map(({ logprob }) => logprob)).toEqual(meant.logprobs.slice(0, -1));
    const beside = pieces.flatMap((piece) => (piece.beside ? [piece.beside] : [])).slice(0, tokens.length);
    expect(beside.every(({ unscored }) => unscored.length === 0)).toBe(true);
    const deltas = z
      .array(z.object({ choices: z.tuple([z.object({ delta: z.object({ reasoning: z.string() }) })]) }))
      .parse(beside.map(({ chunk }) => chunk));
    expect(deltas.map(({ choices: [{ delta }] }) => delta.reasoning).join('')).toMatch(/1 \+ 1|1 =/);
  });

  it('a character of several tokens is the text of the last of them', async () => {
    const { pieces } = await readAll(await open(await replaying(recorded('chat-of-characters'))));
    const parts = pieces.filter(({ text, tokens }) => /\p{Emoji}/u.test(text) && (tokens?.length ?? 0) > 1);
    expect(parts.length).toBeGreaterThan(0);
    for (const { text, tokens } of parts) expect(tokens!.at(-1)!.text).toBe(text);
  });

  it.each([
    ['refused-field', 'upstream_refused', 'temperature', 'temperature must be non-negative'],
    ['refused-type', 'upstream_refused', 'messages', 'Input should be a valid list'],
    ['refused-prompt', 'upstream_refused', 'messages', 'maximum context length is 2048 tokens'],
    ['refused-max-tokens', 'upstream_refused', 'max_tokens', 'cannot be greater than max_model_len=2048'],
    ['refused-in-stream', 'upstream_refused', null, 'greater than max allowed: 20'],
    ['refused-id-in-stream', 'upstream_refused', null, 'out of vocabulary'],
    ['refused-model', 'upstream_not_found', null, 'does not know the path or the model'],
  ])('%s is %s, for the field %s', async (name, code, param, message) => {
    const server = await replaying(recorded(name));
    await expect(open(server)).rejects.toMatchObject({
      code,
      body: { param, message: expect.stringContaining(message) },
    });
    expect(server.reachable).toBe(true);
  });
});
