import { describe, expect, it } from 'vitest';
import { continuationOf, stoppedAcross } from '#gateway/upstream/servers/continuation.js';
import type { UpstreamPiece, UpstreamResponse } from '#gateway/upstream/upstream.js';
import { anUpstreamRequest, readAll } from '../../../support/upstream-server.js';

/** An answer in these parts; says whether it was read to its end. */
function answerOf(texts: readonly string[]) {
  let read = 0;
  const next = async (): Promise<UpstreamPiece[] | null> => {
    const text = texts[read];
    if (text === undefined) return null;
    read += 1;
    return [{ text, tokens: null, ids: null }];
  };
  const usage = { promptTokens: 1, completionTokens: 2 };
  const answer: UpstreamResponse = {
    promptIds: null,
    read: next,
    end: () => ({ finishReason: 'length', usage }),
    cancel: () => {},
  };
  return { answer, read: () => read };
}

describe('a stop string that begins before a continuation', () => {
  it.each([
    ['in one part', 'A.\n', ['\nQ: what', ' else'], 1],
    ['in many', 'A.\n', ['\n', 'Q', ':', ' what'], 3],
    ['of which all but the first character is new', 'A\n', ['\nQ:'], 1],
  ])('ends it: %s', async (_, before, texts, parts) => {
    const { answer, read } = answerOf(texts);
    const stopped = stoppedAcross(answer, before, ['never', '\n\nQ:']);
    expect((await readAll(stopped)).text).toBe('');
    expect(stopped.end()).toEqual({ finishReason: 'stop', usage: null });
    expect(read()).toBe(parts);
  });

  it.each([
    ['that goes on in another way', 'A.\n', ['\n', 'Q', '!', ' all']],
    ['that the end cuts off', 'A.\n', ['\n', 'Q']],
    ['of which nothing was there', 'A.', ['\n', 'Q:', ' all']],
    ['that was not asked for', 'A.\n', ['\n', 'R:']],
  ])('does not where it is one %s', async (_, before, texts) => {
    const { answer } = answerOf(texts);
    const all = stoppedAcross(answer, before, ['\n\nQ:']);
    const { pieces } = await readAll(all);
    expect(pieces.map(({ text }) => text)).toEqual(texts);
    expect(all.end().finishReason).toBe('length');
  });
});

describe('what is asked for to go on', () => {
  const rest = { room: 7, temperature: undefined, seed: 2 ** 32 - 1 };

  it('a seed of 31 bits, and no more tokens than are left', () => {
    const request = anUpstreamRequest({ maxTokens: 9, sampling: { seed: 3, temperature: 0.5 } });
    const prefix = { text: 'A', promptIds: null, ids: null };
    expect(continuationOf(request, { ...rest, prefix })).toEqual({
      ...request,
      sampling: { seed: 2 ** 31 - 1, temperature: 0.5 },
      maxTokens: 7,
      prefix,
    });
    expect(continuationOf(anUpstreamRequest(), { ...rest, prefix })).not.toHaveProperty('maxTokens');
  });

  it('from the start nothing has begun', () => {
    const prefix = { text: '', promptIds: [1], ids: [] };
    expect(continuationOf(anUpstreamRequest(), { ...rest, prefix })).not.toHaveProperty('prefix');
  });
});
