import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { post, TestSocket } from '../../support/gateway.js';
import { recordings, VLLM } from '../../support/recordings.js';
import type { ScriptedReply } from '../../support/scripted-upstream.js';
import { isProbe, vllmDouble } from '../../support/upstream-doubles.js';
import { body, gatewayBefore, streamed } from '../../support/upstream-gateway.js';

const chunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: z.looseObject({ reasoning: z.string().optional() }),
      logprobs: z.unknown(),
      token_ids: z.array(z.number()).optional(),
    }),
  ),
});
type Chunk = z.output<typeof chunk>;

const [opening, ...RECORDED]: readonly Chunk[] = recordings(VLLM)
  .reasoning!.body.split('\n\n')
  .flatMap((event) => (event.startsWith('data: {') ? [chunk.parse(JSON.parse(event.slice(6)))] : []));
/** The text of each token that vLLM wrote, without the one that ended the answer. */
const TEXTS = RECORDED.flatMap(({ choices }) => choices[0]?.delta.reasoning ?? []);
const IDS = RECORDED.flatMap(({ choices }) => choices[0]?.token_ids ?? []).slice(0, -1);

type Delta = Readonly<Record<string, unknown>>;

/** What was recorded, with another field for the text of each token, as another parser of the server would put it. */
const retold =
  (deltaOf: (index: number, text: string) => Delta, finish = 'stop', bare = false) =>
  (reply: ScriptedReply): void => {
    reply.head().data(opening);
    for (const [i, recorded] of RECORDED.entries()) {
      const [choice] = recorded.choices;
      const text = choice?.delta.reasoning;
      const delta = text === undefined ? {} : deltaOf(i, text);
      const { logprobs, token_ids: ids, ...rest } = choice ?? {};
      const own = { ...rest, delta, ...(!bare && { logprobs, token_ids: ids }) };
      const reason = choice?.finish_reason === 'stop' ? { finish_reason: finish } : {};
      reply.data(choice ? { ...recorded, choices: [{ ...own, ...reason }] } : recorded);
    }
    reply.last();
  };

async function serving(write: (reply: ScriptedReply) => void): Promise<string> {
  const probed = vllmDouble();
  const { url } = await gatewayBefore((request, reply) =>
    isProbe(request) ? probed(request, reply) : write(reply),
  );
  return url;
}

/** All events of a WebSocket; each is checked against the protocol. */
async function heard(url: string, changes: object = {}) {
  const socket = await TestSocket.open(url);
  const { stream: _, ...create } = body(changes);
  socket.send({ type: 'generation.create', ...create });
  await socket.event(({ type }) => type === 'generation.done' || type === 'error');
  socket.close();
  const ofType = (type: string) => socket.events.filter((event) => event.type === type);
  return { ofType, done: socket.events.at(-1)! };
}

const wholeAnswer = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({}), logprobs: z.unknown() })),
  flinch: z.looseObject({
    guard: z.looseObject({ warnings: z.array(z.string()) }),
    tokens: z.array(
      z.looseObject({ text: z.string(), part: z.string().optional(), part_text: z.string().optional() }),
    ),
    steps: z.array(z.looseObject({ text: z.string(), part: z.string().optional() })),
    verdict: z.looseObject({}),
  }),
});

const whole = async (url: string, changes: object = {}) =>
  wholeAnswer.parse(await (await post(url, body({ stream: false, ...changes }))).json());

const partsOf = (events: readonly { readonly [field: string]: unknown }[]): unknown[] =>
  events.map(({ part }) => part ?? 'text');

const times = (count: number, part: string): string[] => Array.from({ length: count }, () => part);

const warnings = (all: readonly string[]): string[] => all.filter((each) => each.startsWith('unscored'));

const call = (index: number, text: string): Delta => ({
  tool_calls: [{ index, function: { arguments: text } }],
});

/** Three tokens of reasoning, a mark that is in no field, and a text. */
const thenText = (i: number, text: string): Delta =>
  i < 3 ? { reasoning: text } : i === 3 ? {} : { content: text };

describe('tokens of vLLM that are no text', () => {
  it('a recorded reasoning is scored, token by token, in steps', async () => {
    const { ofType, done } = await heard(await serving(retold((_, text) => ({ reasoning: text }))));
    const tokens = ofType('token.delta');
    expect(tokens.map(({ id }) => id)).toEqual(IDS);
    expect(tokens.map(({ text, part_text }) => [text, part_text])).toEqual(TEXTS.map((text) => ['', text]));
    expect(partsOf(tokens)).toEqual(times(TEXTS.length, 'reasoning'));
    const scores = ofType('score.delta');
    expect(scores.map(({ index }) => index)).toEqual(tokens.map(({ index }) => index));
    expect(partsOf(scores)).toEqual(times(TEXTS.length, 'reasoning'));
    for (const [i, { scores: own }] of scores.entries()) {
      expect(own).toEqual({ nll: -Number(tokens[i]!.logprob), margin: expect.any(Number) });
    }
    const passed = ofType('upstream.delta');
    expect(passed.every(({ unscored }) => JSON.stringify(unscored) === '[]')).toBe(true);
    const steps = ofType('step.done');
    expect(partsOf(steps)).toEqual(times(steps.length, 'reasoning'));
    expect(steps.map(({ text }) => text).join('')).toBe(TEXTS.join(''));
    expect(done).toMatchObject({
      usage: { completion_tokens: 11 },
      verdict: { unscored_tokens: 0, steps: steps.length, reason: 'too_few_answers' },
    });
  });

  it('a text after them is scored, and alone is the answer', async () => {
    const url = await serving(retold(thenText));
    const { ofType, done } = await heard(url);
    const rest = TEXTS.length - 4;
    const parts = [...times(4, 'reasoning'), ...times(rest, 'text')];
    expect(partsOf(ofType('token.delta'))).toEqual(parts);
    expect(partsOf(ofType('score.delta'))).toEqual(parts);
    expect(ofType('token.delta').map(({ id }) => id)).toEqual(IDS);
    const steps = ofType('step.done').map(({ part, text }) => [part, text]);
    expect(steps[0]).toEqual(['reasoning', TEXTS.slice(0, 4).join('')]);
    expect(new Set(steps.slice(1).map(([part]) => part))).toEqual(new Set([undefined]));
    // What the server says stands after its tokens.
    expect(ofType('upstream.delta').map(({ at }) => at)).toEqual([1, 2, 3, TEXTS.length]);
    expect(done.verdict).toMatchObject({ unscored_tokens: 0, reason: 'too_few_answers' });

    const { choices, flinch } = await whole(url, { logprobs: true });
    const text = TEXTS.slice(4).join('');
    expect(choices[0]!.message).toMatchObject({ content: text, reasoning: TEXTS.slice(0, 3).join('') });
    expect(choices[0]!.logprobs).toMatchObject({
      content: TEXTS.flatMap((token, i) => (i === 3 ? [] : [{ token }])),
    });
    expect(flinch.tokens.map((token) => token.part_text ?? token.text)).toEqual(TEXTS);
    expect(flinch.tokens.map((token) => token.text).join('')).toBe(text);
    expect(partsOf(flinch.tokens)).toEqual(parts);
    expect(flinch.steps[0]!.part).toBe('reasoning');
    expect(warnings(flinch.guard.warnings)).toEqual([]);

    const stream = await streamed(url, { logprobs: true });
    expect(stream.text).toBe(text);
    const deltas = stream.chunks.flatMap(({ choices }) => choices?.[0]?.delta ?? []);
    const thoughts = deltas.flatMap((delta) => ('reasoning' in delta ? [delta.reasoning] : []));
    expect(thoughts).toEqual(TEXTS.slice(0, 3));
  });

  it('arguments are one step for each of two calls, wherever they are split', async () => {
    const url = await serving(
      retold((i, text) => {
        if (i < 2) return { content: text };
        // Marks are told nowhere, and a call begins with its name.
        if (i === 2 || i === 6) return {};
        return call(i < 6 ? 0 : 1, [...text].reverse().join(''));
      }, 'tool_calls'),
    );
    const { ofType, done } = await heard(url);
    const tokens = ofType('token.delta');
    expect(tokens.map(({ call }) => call ?? null)).toEqual([null, null, 0, 0, 0, 0, 1, 1, 1, 1]);
    expect(ofType('step.done').map(({ part, from, to, text }) => [part, from, to, text])).toEqual([
      [undefined, 0, 2, TEXTS.slice(0, 2).join('')],
      ['tool_calls', 2, 6, TEXTS.slice(2, 6).join('')],
      ['tool_calls', 6, 10, TEXTS.slice(6).join('')],
    ]);
    expect(done).toMatchObject({
      finish_reason: 'tool_calls',
      verdict: { steps: 3, unscored_tokens: 0, reason: 'too_few_answers' },
    });
    const { choices } = await whole(url);
    expect(choices[0]!.message).toMatchObject({
      content: TEXTS.slice(0, 2).join(''),
      tool_calls: [{ function: { arguments: expect.any(String) } }, {}],
    });
  });

  it('nothing is scored of which no tokens are told, and the response says so', async () => {
    const bare = await serving(retold(thenText, 'stop', true));
    const { ofType, done } = await heard(bare);
    expect(partsOf(ofType('token.delta'))).toEqual(times(TEXTS.length - 4, 'text'));
    expect(ofType('upstream.delta')[0]).toMatchObject({ unscored: ['reasoning'] });
    expect(done.verdict).toMatchObject({ flagged: null, reason: 'unscored_tokens' });
    const calls = await serving(retold((_, text) => call(0, text), 'tool_calls', true));
    expect(warnings((await whole(calls)).flinch.guard.warnings)).toEqual(['unscored: tool_calls']);
  });

  it('steps of them are held, and a flagged one can stop the answer, but none is drawn again', async () => {
    // The model doubts its reasoning more than its text.
    const url = await serving(retold((i, text) => (i < 8 ? { reasoning: text } : { content: text })));
    for (let i = 0; i < 40; i++) await heard(url);
    const guard = { methods: ['nll'], rate: 0.9 };
    const stop = await heard(url, { guard: { ...guard, action: 'stop', delivery: 'held' } });
    expect(stop.done).toMatchObject({ finish_reason: 'content_filter' });
    expect(stop.ofType('step.flagged')[0]).toMatchObject({ action: 'stop', part: 'reasoning' });
    expect(stop.ofType('token.delta')).toEqual([]);
    const rollback = await heard(url, { guard: { ...guard, action: 'rollback', candidates: 2 } });
    expect(rollback.ofType('step.flagged')[0]).toMatchObject({ action: 'annotate', part: 'reasoning' });
    expect(rollback.ofType('rollback.started')).toEqual([]);
    expect(rollback.done).toMatchObject({ finish_reason: 'stop' });
  });
});
