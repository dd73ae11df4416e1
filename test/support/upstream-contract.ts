import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { stoppedAcross } from '#gateway/upstream/continuation.js';
import { Scorer } from '#gateway/upstream/scorer.js';
import type { UpstreamRequest } from '#gateway/upstream/upstream.js';
import type { ScorerMismatchEvent } from '#src/index.js';
import { Engine, encodePrompt } from '#src/index.js';
import { useFolder } from './cli.js';
import { post, type SocketEvent, TestSocket } from './gateway.js';
import { calibratedModel } from './guarded-model.js';
import { streamed, upstreamGateway } from './upstream-gateway.js';
import { type Recorded, recordingProxy } from './upstream-proxy.js';
import { clientOf, open, readAll } from './upstream-server.js';
import type { Feature, RunningSubject, Subject } from './upstream-subjects.js';

/** What the server itself says: read here, and not by flinch. */
const piece = z.object({
  choices: z.array(
    z.object({
      delta: z.object({ content: z.string().nullish() }).optional(),
      text: z.string().optional(),
      finish_reason: z.string().nullish(),
      token_ids: z.array(z.number()).nullish(),
      prompt_token_ids: z.array(z.number()).nullish(),
      logprobs: z
        .object({
          content: z.array(z.object({ id: z.number().optional(), logprob: z.number() })).optional(),
          token_logprobs: z.array(z.number()).optional(),
        })
        .nullish(),
    }),
  ),
  prompt_token_ids: z.array(z.number()).nullish(),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
});

interface Said {
  readonly text: string;
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly promptIds: readonly number[] | null;
  readonly finishReason: string | null;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

export function said(body: string): Said {
  const pieces = body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => piece.parse(JSON.parse(line.slice('data: '.length))));
  const choices = pieces.flatMap((each) => each.choices);
  const entries = choices.flatMap(({ logprobs }) => logprobs?.content ?? []);
  const ids = choices.flatMap(({ token_ids }) => token_ids ?? []);
  return {
    text: choices.map(({ delta, text }) => delta?.content ?? text ?? '').join(''),
    ids: ids.length > 0 ? ids : entries.flatMap(({ id }) => id ?? []),
    logprobs:
      entries.length > 0
        ? entries.map(({ logprob }) => logprob)
        : choices.flatMap(({ logprobs }) => logprobs?.token_logprobs ?? []),
    promptIds:
      pieces.find((each) => each.prompt_token_ids)?.prompt_token_ids ??
      choices.find((each) => each.prompt_token_ids)?.prompt_token_ids ??
      null,
    finishReason: choices.find((each) => each.finish_reason)?.finish_reason ?? null,
    usage: pieces.find((each) => each.usage)?.usage ?? null,
  };
}

const ODD = [{ role: 'user' as const, content: 'Repeat: Größe, 漢字, 😀👍🏽, Ελληνικά, עברית.' }];

/** What flinch does with a server, whichever it is. Each test is one point of the contract of docs/upstreams.md. */
export function upstreamContract(subject: Subject): void {
  const { model, capabilities, missing } = subject;

  describe.skipIf(missing !== '')(`${subject.name} with ${model.name}${missing}`, () => {
    let server: RunningSubject;
    beforeAll(async () => {
      server = await subject.start();
    });
    afterAll(() => server?.close());
    const folder = useFolder();

    /** A point that a server may not offer. */
    const point = (feature: Feature, title: string, run: (context: TestContext) => Promise<void>): void => {
      const why = subject.not[feature];
      if (why) test.skip(`${title} (not offered: ${why})`, run);
      else test(title, run);
    };

    const messages = [{ role: 'user' as const, content: model.question }];
    const gateway = (changes: object = {}, options: Parameters<typeof upstreamGateway>[2] = {}) =>
      upstreamGateway(
        [server.url],
        { upstreams: [{ url: server.url, model: model.name }], retries: 0, ...changes },
        options,
      );
    const client = (url = server.url) => clientOf(url, {}, { model: model.name });
    const greedy = { messages, temperature: 0, max_tokens: 24 };

    async function direct(changes: object = {}): Promise<Said> {
      const response = await fetch(`${server.url}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: model.name,
          ...greedy,
          stream: true,
          stream_options: { include_usage: true },
          logprobs: true,
          top_logprobs: 1,
          return_token_ids: true,
          ...changes,
        }),
      });
      return said(await response.text());
    }

    /** As flinch reads it, without a guard. */
    async function read(changes: Partial<UpstreamRequest> = {}, url = server.url) {
      const sampling = { temperature: 0 };
      const response = await open(client(url), { messages, sampling, maxTokens: 24, ...changes });
      const answer = await readAll(response);
      const tokens = answer.pieces.flatMap(({ tokens }) => tokens ?? []);
      expect(answer.error).toBeNull();
      return { ...answer, tokens, promptIds: response.promptIds, ...response.end() };
    }

    describe('probing', () => {
      test('finds out what it can do, in five requests', async () => {
        const proxy = await recordingProxy(server.url);
        expect(await client(proxy.url).probe()).toEqual(capabilities);
        expect(proxy.recorded).toHaveLength(5);
      });

      test('finds another way where prompts of ids are not taken', async () => {
        const proxy = await recordingProxy(server.url, (path) => path === '/v1/completions');
        const { resume } = await client(proxy.url).probe();
        expect(resume).toBe('continueFinalMessage');
      });
    });

    describe('tokens', () => {
      test('have the ids and log-probabilities that the server tells', async () => {
        const { url } = await gateway();
        const expected = await direct();
        const answer = await streamed(url, { ...greedy, logprobs: true, top_logprobs: 2 });
        const tokens = tokensOf(answer.chunks);
        expect(answer).toMatchObject({ text: expected.text, done: true, error: null });
        const ids = tokens.map(({ id }) => id);
        expect(ids).toEqual(expected.ids.slice(0, ids.length));
        expect(ids.length).toBeGreaterThanOrEqual(Math.min(20, expected.ids.length - 1));
        expect(tokens.map(({ text }) => text).join('')).toBe(expected.text);
        for (const [i, { logprob }] of tokens.entries()) {
          expect(logprob, `of token ${i}`).toBeCloseTo(expected.logprobs[i]!, 3);
        }
      });

      test('are described at a high temperature as the model sees them, and the seed is passed on', async () => {
        const { url } = await gateway();
        const sampled = { ...greedy, temperature: 1, seed: 5, max_tokens: 16 };
        const expected = await direct(sampled);
        const answer = await streamed(url, { ...sampled, logprobs: true, top_logprobs: 1 });
        expect(answer.text).toBe(expected.text);
        for (const [i, { logprob }] of tokensOf(answer.chunks).entries()) {
          expect(logprob, `of token ${i}`).toBeCloseTo(expected.logprobs[i]!, 3);
        }
      });

      point('promptIds', 'come after a prompt whose ids are told', async () => {
        const { promptIds, usage } = await read();
        expect(promptIds).toHaveLength(usage!.promptTokens);
        if (model.checkpoint) {
          const engine = await engineOf(model.checkpoint);
          expect(promptIds).toEqual(encodePrompt(engine.checkpoint, messages));
        }
      });

      point('unicode', 'of parts of characters are joined as the server joins them', async (context) => {
        let parts = 0;
        for (let seed = 1; seed <= 4; seed++) {
          const sampling = { temperature: 1.4, seed };
          const expected = await direct({ messages: ODD, max_tokens: 60, ...sampling });
          const answer = await read({ messages: ODD, sampling, maxTokens: 60 });
          expect(answer.text).toBe(expected.text);
          // Of bytes that are no character the server tells no token's text: their ids come beside the text.
          const ids = answer.pieces.flatMap(({ tokens, ids }) => tokens?.map(({ id }) => id) ?? ids ?? []);
          expect(ids).toEqual(expected.ids.slice(0, ids.length));
          expect(ids.length).toBeGreaterThanOrEqual(expected.ids.length - 1);
          for (const { text, tokens } of answer.pieces) if (tokens) expect(textOf(tokens)).toBe(text);
          parts += answer.tokens.filter(({ text }) => text === '').length;
        }
        await context.annotate(`${parts} tokens were parts of characters`, 'measured');
        expect(parts).toBeGreaterThan(0);
      });
    });

    describe('a request', () => {
      test('at temperature 0 gives the same text again', async () => {
        expect((await read()).text).toBe((await read()).text);
      });

      point('seeds', 'with a seed gives the same text again, and with another one another', async () => {
        const drawn = (seed: number) => read({ sampling: { temperature: 1, seed } });
        expect((await drawn(3)).text).toBe((await drawn(3)).text);
        expect((await drawn(4)).text).not.toBe((await drawn(3)).text);
      });

      test('ends after max_tokens, and usage is what the server counts', async () => {
        const expected = await direct({ max_tokens: 9 });
        const { url } = await gateway();
        const answer = await streamed(url, {
          ...greedy,
          max_tokens: 9,
          stream_options: { include_usage: true },
        });
        expect(answer.text).toBe(expected.text);
        expect(answer.chunks.find(({ usage }) => usage)?.usage).toMatchObject({
          prompt_tokens: expected.usage!.prompt_tokens,
          completion_tokens: 9,
        });
        expect(answer.chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? [])).toEqual(['length']);
      });

      test('ends at a stop string: one within a token, and one that spans tokens', async () => {
        const { text, tokens } = await read();
        const texts = tokens.map((token) => token.text);
        const spanning = texts.findIndex(
          (each, i) => i > 3 && each.length > 1 && (texts[i + 1]?.length ?? 0) > 2,
        );
        expect(spanning).toBeGreaterThan(0);
        const stops = [
          texts[spanning]!.trim(),
          `${texts[spanning]!.slice(-1)}${texts[spanning + 1]!.slice(0, 2)}`,
        ];
        for (const stop of stops) {
          const { url } = await gateway();
          const answer = await streamed(url, { ...greedy, stop: [stop], logprobs: true });
          const expected = text.slice(0, text.indexOf(stop));
          expect(answer).toMatchObject({ text: expected, done: true, error: null });
          const own = tokensOf(answer.chunks);
          expect(own.map((token) => token.text).join('')).toBe(expected);
          // Only the one that the stop string cuts through has no log-probability.
          expect(own.slice(0, -1).every(({ logprob }) => logprob !== null)).toBe(true);
          const reasons = answer.chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? []);
          expect(reasons).toEqual(['stop']);
        }
      });

      point(
        'longPrompt',
        'that nearly fills the context ends with it, and one that does not fit is refused by its field',
        async () => {
          const { url } = await gateway();
          const asked = (words: number) => [{ role: 'user', content: 'and '.repeat(words).trim() }];
          const tokens = async (words: number): Promise<number> =>
            (await direct({ messages: asked(words), max_tokens: 1 })).usage!.prompt_tokens;
          const [few, more] = [await tokens(10), await tokens(20)];
          const each = (more - few) / 10;
          const near = 10 + Math.floor((model.context - 8 - few) / each);
          expect(await tokens(near)).toBeGreaterThan(model.context - 20);
          const fits = await streamed(url, { messages: asked(near), temperature: 0 });
          expect(fits).toMatchObject({ status: 200, done: true, error: null });
          const over = await streamed(url, { messages: asked(near + 20), temperature: 0 });
          expect(over).toMatchObject({ status: 400, error: { code: 'upstream_refused', param: 'messages' } });
          expect(over.error!.message).toMatch(/context|tokens/);
        },
      );

      point('tooManyTokens', 'for more tokens than the context has is refused by its field', async () => {
        const { url } = await gateway();
        const tooMany = await streamed(url, { ...greedy, max_tokens: 100_000 });
        expect(tooMany).toMatchObject({
          status: 400,
          error: { code: 'upstream_refused', param: 'max_tokens' },
        });
      });

      point(
        'unknownModel',
        'for a model that the server does not know ends in an error of the configuration',
        async () => {
          const { url } = await gateway({ upstreams: [{ url: server.url, model: 'unknown-model' }] });
          expect(await streamed(url, greedy)).toMatchObject({
            status: 502,
            error: { code: 'upstream_not_found' },
          });
        },
      );

      test('among many at once ends well, and beyond max_streams is refused', async () => {
        const { url } = await gateway({ max_streams: 64 });
        const many = await Promise.all(Array.from({ length: 16 }, () => streamed(url, greedy)));
        for (const answer of many) expect(answer).toMatchObject({ status: 200, done: true, error: null });
        const limited = await gateway({ max_streams: 2 });
        const some = await Promise.all(Array.from({ length: 6 }, () => streamed(limited.url, greedy)));
        const refused = some.filter(({ status }) => status !== 200);
        expect(refused).toHaveLength(4);
        for (const { status, error } of refused) {
          expect({ status, code: error?.code }).toEqual({ status: 503, code: 'overloaded' });
        }
      });

      test('that the client gives up is given up by the server', async () => {
        const { url } = await gateway();
        const abort = new AbortController();
        const response = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'm',
            messages: [{ role: 'user', content: model.endless }],
            temperature: 0,
            stream: true,
          }),
          signal: abort.signal,
        });
        const reader = response.body!.getReader();
        for (let i = 0; i < 3; i++) await reader.read();
        expect(await server.running()).toBe(1);
        abort.abort();
        await expect.poll(() => server.running(), { timeout: 20_000 }).toBe(0);
      });
    });

    describe('a text that has begun', () => {
      test('goes on by its ids', async (context) => {
        const whole = await read();
        const promptIds = whole.promptIds ?? (await expectedPrompt(model.checkpoint));
        if (!promptIds) return context.skip('nobody knows the ids of the prompt');
        const kept = whole.tokens.slice(0, 10);
        const begun = { text: textOf(kept), promptIds, ids: kept.map(({ id }) => id!) };
        const rest = await read({ begun, maxTokens: 24 - kept.length });
        expect(`${begun.text}${rest.text}`).toBe(whole.text);
        expect(rest.usage!.promptTokens).toBe(promptIds.length + kept.length);
        // Log-probabilities are those of the same text.
        for (const [i, { id, logprob }] of rest.tokens.entries()) {
          expect(id).toBe(whole.tokens[10 + i]!.id);
          expect(logprob, `of token ${i}`).toBeCloseTo(whole.tokens[10 + i]!.logprob!, 3);
        }
      });

      point('continueFinalMessage', 'goes on by its text', async () => {
        const whole = await read();
        const kept = whole.tokens.slice(0, 10);
        const begun = { text: textOf(kept), promptIds: null, ids: null };
        const rest = await read({ begun, maxTokens: 24 - kept.length });
        expect(`${begun.text}${rest.text}`).toBe(whole.text);
      });

      test('ends at a stop string that begins in it', async () => {
        const whole = await read();
        const kept = whole.tokens.slice(0, 10);
        const before = textOf(kept);
        const stop = `${before.slice(-2)}${whole.text.slice(before.length, before.length + 2)}`;
        const begun = { text: before, promptIds: null, ids: null };
        const request = { messages, sampling: { temperature: 0 }, maxTokens: 14, begun, stop: [stop] };
        const rest = stoppedAcross(await open(client(), request), before, [stop]);
        expect((await readAll(rest)).text).toBe('');
        expect(rest.end().finishReason).toBe('stop');
      });
    });

    const expectedPrompt = async (checkpoint: string | null): Promise<readonly number[] | null> =>
      checkpoint ? encodePrompt((await engineOf(checkpoint)).checkpoint, messages) : null;

    const engines = new Map<string, Promise<Engine>>();
    const engineOf = (checkpoint: string): Promise<Engine> => {
      const known = engines.get(checkpoint) ?? Engine.open(checkpoint);
      engines.set(checkpoint, known);
      return known;
    };
    afterAll(async () => {
      for (const engine of engines.values()) await (await engine).close();
    });

    async function scorerOf(checkpoint: string) {
      const mismatches: ScorerMismatchEvent[] = [];
      const scorer = await Scorer.open(await engineOf(checkpoint), {
        logger: pino({ level: 'silent' }),
        onMismatch: (mismatch) => mismatches.push(mismatch),
      });
      return { scorer, mismatches };
    }

    /** A generation over WebSocket, where what was sent can be taken back. */
    async function generation(url: string, changes: object): Promise<SocketEvent[]> {
      const socket = await TestSocket.open(url);
      socket.send({ type: 'generation.create', model: 'm', messages, ...changes });
      await socket.event(({ type }) => type === 'generation.done' || type === 'error');
      socket.close();
      return socket.events;
    }

    describe('with a scorer of the same weights', () => {
      point('scorer', 'is scored by the ids that the server tells, and the two agree', async (context) => {
        const { scorer, mismatches } = await scorerOf(model.checkpoint!);
        const proxy = await recordingProxy(server.url);
        const { url } = await gateway({ upstreams: [{ url: proxy.url, model: model.name }] }, { scorer });
        await streamed(url, { ...greedy, max_tokens: 1 });
        proxy.recorded.length = 0;
        for (const [temperature, seed] of [
          [0, 0],
          [1, 1],
          [1, 2],
          [0.7, 3],
        ] as const) {
          const events = await generation(url, {
            ...{ temperature, seed, max_tokens: 64 },
            guard: { methods: ['nll'] },
          });
          expect(events.at(-1)?.type).toBe('generation.done');
          const tokens = finalTokens(events);
          const wire = said(proxy.recorded.at(-1)!.response().toString());
          const ids = tokens.map(({ id }) => id);
          expect(ids).toEqual(wire.ids.slice(0, ids.length));
          expect(textOf(tokens)).toBe(wire.text);
        }
        const { difference, tokens } = scorer.state;
        await context.annotate(
          `mean absolute difference of log-probabilities ${difference?.toExponential(2)} nats over ${tokens} tokens`,
          'measured',
        );
        expect(tokens).toBeGreaterThan(60);
        expect(difference).toBeLessThan(subject.agreement);
        expect(mismatches).toEqual([]);
      });

      point('unicode', 'is scored by its ids also where characters have several tokens', async () => {
        const { scorer, mismatches } = await scorerOf(model.checkpoint!);
        const proxy = await recordingProxy(server.url);
        const { url } = await gateway({ upstreams: [{ url: proxy.url, model: model.name }] }, { scorer });
        for (const seed of [1, 2]) {
          const events = await generation(url, {
            ...{ messages: ODD, temperature: 1.4, seed, max_tokens: 48 },
            guard: { methods: ['nll'] },
          });
          expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
          const tokens = finalTokens(events);
          const wire = said(proxy.recorded.at(-1)!.response().toString());
          const ids = tokens.map(({ id }) => id);
          expect(textOf(tokens)).toBe(wire.text);
          expect(ids).toEqual(wire.ids.slice(0, ids.length));
        }
        expect(mismatches).toEqual([]);
      });

      point('scorer', 'is scored by all default methods', async () => {
        const { scorer } = await scorerOf(model.checkpoint!);
        const { url } = await gateway({}, { scorer });
        const events = await generation(url, { temperature: 0, max_tokens: 16 });
        const scores = events.filter(({ type }) => type === 'score.delta');
        expect(scores).toHaveLength(16);
        for (const { scores: each } of scores) {
          expect(Object.keys(Object(each)).sort()).toEqual(['adversarial', 'entropy', 'margin', 'nll']);
        }
      });
    });

    describe('a rollback', () => {
      const action = {
        action: 'rollback',
        rate: 0.5,
        max_rollbacks: 2,
        candidates: 2,
        choose: 'uncertainty',
      };

      joins('by the ids of the tokens', () => false);
      joins('by the text alone', (path) => path === '/v1/completions');

      function joins(title: string, refuse: (path: string) => boolean): void {
        point('scorer', `${title} joins the text exactly`, async (context) => {
          const calibrated = folder.path(`calibrated-${title.length}`);
          const { scorer, mismatches } = await scorerOf(
            await calibratedModel(model.checkpoint!, calibrated, 0.0015),
          );
          const proxy = await recordingProxy(server.url, refuse);
          const { url } = await gateway({ upstreams: [{ url: proxy.url, model: model.name }] }, { scorer });
          let replaced = 0;
          for (const seed of [1, 2]) {
            proxy.recorded.length = 0;
            const events = await generation(url, { temperature: 1, seed, max_tokens: 40, guard: action });
            expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
            const done = events.filter(({ type }) => type === 'rollback.done');
            replaced += done.filter(({ outcome }) => outcome === 'replaced').length;
            const tokens = finalTokens(events);
            const { tokenizer } = scorer.engine.checkpoint;
            expect(tokenizer.decode(tokens.map(({ id }) => id!))).toBe(textOf(tokens));
            const continued = proxy.recorded.filter(isContinuation);
            expect(continued.length).toBeGreaterThan(0);
            for (const { path, status } of continued) {
              expect({ path, status }).toEqual({
                path: refuse('/v1/completions') ? '/v1/chat/completions' : '/v1/completions',
                status: 200,
              });
            }
          }
          await context.annotate(`${replaced} steps were replaced`, 'measured');
          expect(replaced).toBeGreaterThan(0);
          expect(mismatches).toEqual([]);
        });
      }

      test('without a scorer joins the text exactly', async () => {
        const { url } = await gateway();
        // The running estimate knows enough tokens by then.
        const doubt = { methods: ['nll'], per: 'token', rate: 0.5 };
        for (let seed = 0; seed < 5; seed++) {
          await streamed(url, { messages, temperature: 1, seed, max_tokens: 64, guard: doubt });
        }
        const events = await generation(url, {
          ...{ temperature: 1, seed: 99, max_tokens: 48 },
          guard: { ...action, ...doubt },
        });
        finalTokens(events);
        expect(events.at(-1)).toMatchObject({ type: 'generation.done' });
        expect(events.filter(({ type }) => type === 'rollback.done').length).toBeGreaterThan(0);
      });
    });

    describe('a fault in the middle', () => {
      const endless = { messages: [{ role: 'user', content: model.endless }], temperature: 0 };

      /** Does something to the server once the answer has begun. */
      async function during(url: string, act: () => void) {
        const response = await post(url, { model: 'm', stream: true, ...endless });
        const reader = response.body!.getReader();
        const decoder = new TextDecoder();
        let text = '';
        for (let acted = false; ; ) {
          const { done, value } = await reader.read();
          if (done) return text;
          text += decoder.decode(value, { stream: true });
          if (!acted && text.split('data: ').length > 4) {
            act();
            acted = true;
          }
        }
      }

      test('a process that stops is a timeout, and serves again once it goes on', async () => {
        const { url } = await gateway({ timeouts: { connect_s: 5, first_byte_s: 3, idle_s: 2 } });
        await streamed(url, greedy);
        const text = await during(url, () => server.signal('SIGSTOP'));
        try {
          expect(text).toContain('"code":"upstream_timeout"');
          expect(text).not.toContain('[DONE]');
          expect(await streamed(url, greedy)).toMatchObject({
            status: 504,
            error: { code: 'upstream_timeout' },
          });
        } finally {
          server.signal('SIGCONT');
        }
        await expect
          .poll(async () => (await streamed(url, greedy)).done, { timeout: 60_000, interval: 500 })
          .toBe(true);
      });

      test('a process that is killed is an error, and its successor at the same port is used', async () => {
        const { url, status } = await gateway();
        await streamed(url, greedy);
        const text = await during(url, () => server.signal('SIGKILL'));
        expect(text).toContain('"code":"upstream_error"');
        expect(text).not.toContain('[DONE]');
        const down = await streamed(url, greedy);
        expect(down).toMatchObject({ status: 502, error: { code: 'upstream_unreachable' } });
        await server.close();
        server = await subject.start(Number(new URL(server.url).port));
        await expect
          .poll(async () => (await streamed(url, greedy)).done, { timeout: 60_000, interval: 500 })
          .toBe(true);
        await expect
          .poll(() => status(), { timeout: 60_000 })
          .toMatchObject({ ready: true, upstreams: [{ reachable: true, capabilities, error: null }] });
      });
    });
  });
}

const textOf = (tokens: readonly { readonly text: string }[]): string =>
  tokens.map(({ text }) => text).join('');

/** By their ids, each once. */
function tokensOf(chunks: Awaited<ReturnType<typeof streamed>>['chunks']) {
  return chunks
    .flatMap(({ flinch }) => flinch?.tokens ?? [])
    .filter(({ scores, missing }) => !scores && !missing);
}

/** What a client ends with that applies retractions. */
function finalTokens(events: readonly SocketEvent[]) {
  const token = z.object({
    index: z.number(),
    id: z.number().nullable(),
    text: z.string(),
    from: z.number(),
  });
  const tokens: { readonly id: number | null; readonly text: string }[] = [];
  for (const event of events) {
    if (event.type === 'token.retracted') tokens.length = token.shape.from.parse(event.from);
    if (event.type === 'token.delta') {
      const { index, id, text } = token.omit({ from: true }).parse(event);
      expect(index).toBe(tokens.length);
      tokens.push({ id, text });
    }
  }
  return tokens;
}

/** Of a request that goes on with a text. */
function isContinuation({ body }: Recorded): boolean {
  if (body.max_tokens === 2) return false;
  const { messages } = z.object({ messages: z.array(z.object({ role: z.string() })).optional() }).parse(body);
  return body.prompt !== undefined || messages?.at(-1)?.role === 'assistant';
}
