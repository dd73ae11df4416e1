import { describe, expect, it } from 'vitest';
import { JudgeError } from '#bench/judge/endpoint.js';
import { longestQuoted } from '#bench/judge/json-in.js';
import { judgeAnswer, judgeStep } from '#bench/judge/judge.js';
import { type JudgeReply, memoryCache, useEndpoint } from '../../support/judge-server.js';

const JUDGED = {
  question: 'What is (3 + 4) * 2?',
  reference: '14',
  response: 'First, 3 + 4 = 7. Then 7 * 2 = 15. The answer is 15.',
};
const WRONG = 'Then 7 * 2 = 15.';

/** A judge that analyses, and then answers so. */
const analyst = (extraction: JudgeReply) => (prompt: string) =>
  prompt.includes('<analysis>') ? extraction : 'The second sentence is wrong: 7 * 2 is 14.';

describe('judgeAnswer', () => {
  it('asks with question, reference and response, and reads JSON among other words', async () => {
    const { endpoint, requests } = await useEndpoint(
      () => 'Sure!\n```json\n{"same": false}\n```\nHope it helps {}',
    );
    expect(await judgeAnswer(endpoint, JUDGED)).toBe(false);
    const [request] = requests;
    for (const part of Object.values(JUDGED)) expect(request!.messages[0]!.content).toContain(part);
    expect(request).toMatchObject({ model: 'judge' });
    expect(endpoint.usage).toEqual({
      requests: 1,
      cached: 0,
      promptTokens: 100,
      completionTokens: 7,
      unreadable: 0,
    });
  });

  it('asks again where the answer cannot be read, and gives up', async () => {
    const { endpoint, requests } = await useEndpoint(() => 'They differ.');
    expect(await judgeAnswer(endpoint, JUDGED)).toBeNull();
    expect(requests).toHaveLength(3);
    expect(endpoint.usage).toMatchObject({ requests: 3, unreadable: 1 });
  });

  it('asks nothing twice, not even for another run, nor what was unreadable', async () => {
    const cache = memoryCache();
    const first = await useEndpoint(() => '{"same": true}', {}, cache);
    await judgeAnswer(first.endpoint, JUDGED);
    await judgeAnswer(first.endpoint, JUDGED);
    const second = await useEndpoint(() => 'x', {}, cache);
    expect(await judgeAnswer(second.endpoint, JUDGED)).toBe(true);
    expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
    expect(second.endpoint.usage).toMatchObject({ requests: 0, cached: 1, promptTokens: 0 });
    await judgeAnswer(second.endpoint, { ...JUDGED, reference: '15' });
    expect(second.requests.length).toBe(3);
    const other = await useEndpoint(() => '{"same": false}', { model: 'another' }, cache);
    expect(await judgeAnswer(other.endpoint, JUDGED)).toBe(false);
  });

  it('sends the key, and leaves the temperature to the server', async () => {
    const { endpoint, requests } = await useEndpoint(() => '{"same": true}', { apiKey: 'sk-1' });
    await judgeAnswer(endpoint, JUDGED);
    expect(requests[0]!.key).toBe('Bearer sk-1');
    expect(requests[0]).not.toHaveProperty('temperature');
  });

  it('tries again when the server is overloaded or fails', async () => {
    const replies: JudgeReply[] = [{ status: 429 }, { status: 500 }, '{"same": true}'];
    const { endpoint, requests } = await useEndpoint(() => replies.shift()!, { retries: 2 });
    expect(await judgeAnswer(endpoint, JUDGED)).toBe(true);
    expect(requests.length).toBe(3);
  });

  it.each([
    [
      'refuses the key',
      { status: 401 },
      /judge judge at http.*: rejected the key \(401\); it is read from FLINCH_JUDGE_KEY/,
    ],
    [
      'does not know the model',
      { status: 404, body: { error: { message: 'no such model' } } },
      /404 no such model/,
    ],
    ['fails for good', { status: 503 }, /503/],
    ['sends something else', { status: 200, body: { hello: 1 } }, /its answer contains no message/],
  ])('says so when the server %s', async (_, reply, message) => {
    const { endpoint } = await useEndpoint(() => reply);
    await expect(judgeAnswer(endpoint, JUDGED)).rejects.toThrow(message);
    await expect(judgeAnswer(endpoint, JUDGED)).rejects.toBeInstanceOf(JudgeError);
  });

  it('asks again when the server stalls, and says so when it does not stop', async () => {
    const replies: JudgeReply[] = [{ stall: true }];
    const once = await useEndpoint(() => replies.shift() ?? '{"same": true}', {
      timeoutMs: 1000,
      retries: 1,
    });
    expect(await judgeAnswer(once.endpoint, JUDGED)).toBe(true);
    const always = await useEndpoint(() => ({ stall: true }), { timeoutMs: 500, retries: 1 });
    await expect(judgeAnswer(always.endpoint, JUDGED)).rejects.toThrow(
      /^judge judge at .*: did not answer in time$/,
    );
    expect(always.requests).toHaveLength(2);
  });

  it('says so when there is no server', async () => {
    const { endpoint } = await useEndpoint(() => '', { baseUrl: 'http://127.0.0.1:65533/v1' });
    await expect(judgeAnswer(endpoint, JUDGED)).rejects.toThrow(/cannot be reached \(.*ECONNREFUSED/);
  });
});

describe('judgeStep', () => {
  it('has the response analysed, the first mistake quoted, and finds it', async () => {
    const { endpoint, requests } = await useEndpoint(analyst(`{"step": "${WRONG}"}`));
    const { span, ...rest } = await judgeStep(endpoint, 'math', JUDGED);
    expect(JUDGED.response.slice(...span!)).toBe(WRONG);
    expect(rest).toEqual({ judged: WRONG, similarity: 1 });
    expect(requests.map(({ messages }) => messages[0]!.content.includes('calculation'))).toEqual([
      true,
      false,
    ]);
    expect(requests[1]!.messages[0]!.content).toContain('7 * 2 is 14');
  });

  it('asks otherwise about logic', async () => {
    const { endpoint, requests } = await useEndpoint(analyst('{"step": null}'));
    expect(await judgeStep(endpoint, 'logic', JUDGED)).toEqual({ span: null, rejected: 'none_named' });
    expect(requests[0]!.messages[0]!.content).toContain('misread');
  });

  it.each([
    ['{"step": null}', 'none_named'],
    ['{"step": " "}', 'none_named'],
    ['{"step": "It forgot to carry the one over to the tens."}', 'no_match'],
    ['I cannot tell.', 'unreadable'],
  ])('rejects %s as %s', async (extraction, rejected) => {
    const { endpoint } = await useEndpoint(analyst(extraction));
    expect(await judgeStep(endpoint, 'math', JUDGED)).toMatchObject({ span: null, rejected });
  });

  it('takes the longest quotation of an answer that is not JSON', async () => {
    const { endpoint } = await useEndpoint(analyst(`In "15" it says “${WRONG}” first.`));
    expect(await judgeStep(endpoint, 'math', JUDGED)).toMatchObject({ judged: WRONG, similarity: 1 });
  });
});

describe('longestQuoted', () => {
  it('reads both kinds of quotation marks, and escapes', () => {
    expect(longestQuoted('"a" and "abc" and “abcd”')).toBe('abcd');
    expect(longestQuoted('say "a \\"b\\" c"')).toBe('a \\"b\\" c');
    expect(longestQuoted("nothing 'here'")).toBeNull();
  });
});
