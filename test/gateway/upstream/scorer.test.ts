import { join } from 'node:path';
import { pino } from 'pino';
import { lastValueFrom, type Observable, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineModel } from '#gateway/index.js';
import { chatSchema, parse } from '#gateway/request.js';
import { Scorer } from '#gateway/upstream/scorer.js';
import { UpstreamServer } from '#gateway/upstream/server.js';
import {
  Engine,
  FlowGate,
  type GuardEvent,
  METHODS,
  modelId,
  type ScoreEvent,
  StepAligner,
  TextScorer,
  type TokenEvent,
} from '#src/index.js';
import { useFolder } from '../../support/cli.js';
import { EngineUpstream, type EngineUpstreamOptions } from '../../support/engine-upstream.js';
import { chatBody } from '../../support/gateway.js';
import { REASONER } from '../../support/golden.js';
import { calibratedReasoner } from '../../support/guarded-model.js';

const folder = useFolder();
const silent = pino({ level: 'silent' });
/** Writes, and scores what it writes itself. */
let engine: Engine;
/** Scores what the upstream writes. */
let scoring: Engine;
beforeAll(async () => {
  engine = await Engine.open(REASONER);
  scoring = await Engine.open(await calibratedReasoner(join(folder.path('scorer')), 0.0015));
});
afterAll(async () => {
  await Promise.all([engine.close(), scoring.close()]);
});

const LIMITS = {
  timeouts: { connect_s: 5, first_byte_s: 60, idle_s: 60 },
  limits: { line_bytes: 1 << 20, response_bytes: 1 << 24 },
};

interface Run {
  readonly upstream: EngineUpstreamOptions;
  readonly changes?: object;
  readonly scorer?: Scorer;
  readonly gate?: FlowGate;
}

/** Opens what a client would ask for; `use` is called while the upstream is there. */
async function withAnswer<T>(
  { upstream: options, changes = {}, scorer, gate = new FlowGate() }: Run,
  use: (events: Observable<GuardEvent>, upstream: EngineUpstream, abort: AbortController) => Promise<T>,
): Promise<T> {
  const upstream = await EngineUpstream.start(engine, options);
  const server = new UpstreamServer({ url: upstream.url, model: 'reasoner', key: null, ...LIMITS });
  const abort = new AbortController();
  try {
    const request = parse(chatSchema, chatBody(changes));
    const by = scorer ?? (await Scorer.open(scoring, { logger: silent }));
    const capabilities = await server.probe();
    const prepared = await by.prepare(request, { canRetract: true }, capabilities);
    const { messages, temperature, max_tokens } = request;
    const asked = {
      messages,
      sampling: { temperature: temperature ?? 0, seed: request.seed ?? 1 },
      stop: [request.stop ?? []].flat(),
      topLogprobs: request.top_logprobs ?? 0,
      ...(max_tokens && { maxTokens: max_tokens }),
    };
    const ask = async () => ({ server, answer: await server.open(asked, abort.signal) });
    const writing = { request: asked, ask, seed: request.seed ?? 1, signal: abort.signal };
    return await use(prepared!.start(writing, gate), upstream, abort);
  } finally {
    await server.close();
    await upstream.close();
  }
}

const collect = (run: Run): Promise<GuardEvent[]> =>
  withAnswer(run, (events) => lastValueFrom(events.pipe(toArray())));

async function embedded(changes: object): Promise<GuardEvent[]> {
  const model = await EngineModel.open('reasoner', engine);
  const prepared = await model.prepare(parse(chatSchema, chatBody(changes)), { canRetract: true });
  return lastValueFrom(prepared.start(new FlowGate()).pipe(toArray()));
}

/** What a client ends with that applies retractions. */
function ending(events: readonly GuardEvent[]) {
  const tokens: TokenEvent[] = [];
  const scores: ScoreEvent[] = [];
  for (const event of events) {
    if (event.type === 'token.delta') {
      expect(event.index).toBe(tokens.length);
      tokens.push(event);
    }
    if (event.type === 'score.delta') scores[event.index] = event;
    if (event.type === 'token.retracted') tokens.length = scores.length = event.from;
  }
  return { tokens, scores, text: tokens.map(({ text }) => text).join('') };
}

const DIALECTS: Readonly<Record<string, EngineUpstreamOptions>> = {
  'ids and log-probabilities': { tokenIds: true, logprobs: true },
  'ids alone': { tokenIds: true },
  'log-probabilities alone': { logprobs: true },
  'text alone': {},
};

describe.each(Object.entries(DIALECTS))('an upstream that tells %s', (_name, upstream) => {
  it('is scored like the embedded model', async () => {
    const changes = { guard: { methods: [...METHODS] } };
    const own = ending(await embedded(changes));
    const { tokens, scores, text } = ending(await collect({ upstream, changes }));
    expect(text).toBe(own.text);
    expect(tokens.map(({ id }) => id)).toEqual(own.tokens.map(({ id }) => id));
    expect(tokens.map((token) => token.text)).toEqual(own.tokens.map((token) => token.text));
    expect(scores).toHaveLength(own.scores.length);
    for (const [i, score] of scores.entries()) {
      expect(score.skipped).toEqual([]);
      for (const method of METHODS) {
        const [value, expected] = [score.scores[method]!, own.scores[i]!.scores[method]!];
        expect(Math.abs(value - expected), `${method} of ${i}`).toBeLessThan(
          2e-5 + 1e-3 * Math.abs(expected),
        );
      }
    }
    for (const [i, token] of tokens.entries()) {
      if (upstream.logprobs) expect(token.logprob).toBeCloseTo(own.tokens[i]!.logprob!, 5);
      else expect(token.logprob).toBeNull();
    }
  });
});

describe('rollback through an upstream', () => {
  const RESUMING: Readonly<Record<string, EngineUpstreamOptions>> = {
    'ids of prompt and text': { tokenIds: true, logprobs: true, completions: true },
    continue_final_message: { tokenIds: true, logprobs: true, continues: true },
    'continue_final_message, text alone': { continues: true },
    'a prompt as text': { logprobs: true, completions: true },
  };

  it.each(Object.entries(RESUMING))(
    'ends in a text whose scores are those of the text alone: %s',
    async (_name, upstream) => {
      const guard = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2, choose: 'uncertainty' };
      let replaced = 0;
      for (const seed of [1, 2, 3]) {
        const events = await collect({ upstream, changes: { guard, temperature: 1, seed } });
        replaced += events.filter(
          (event) => event.type === 'rollback.done' && event.outcome === 'replaced',
        ).length;
        expect(events.some(({ type }) => type === 'scorer.mismatch')).toBe(false);
        expect(events.at(-1)?.type).toBe('generation.done');
        const { tokens, scores } = ending(events);
        await expectScoredAlone(tokens, scores);
      }
      expect(replaced).toBeGreaterThan(0);
    },
  );
});

/** The final text, scored by itself with passes that end where its steps may begin. */
async function expectScoredAlone(
  tokens: readonly TokenEvent[],
  scores: readonly ScoreEvent[],
): Promise<void> {
  const aligner = new StepAligner();
  const { messages } = parse(chatSchema, chatBody());
  const { encodePrompt, DEFAULT_SCORING } = await import('#src/index.js');
  const scorer = await TextScorer.open(engine, encodePrompt(engine.checkpoint, messages), DEFAULT_SCORING);
  const next = tokens.map((token) => ({ id: modelId(token), begins: aligner.begins(token.text) }));
  const alone = [...(await scorer.push(next)), ...(await scorer.finish())];
  scorer.close();
  expect(scores).toHaveLength(alone.length);
  for (const [i, { scores: expected }] of alone.entries()) {
    const got = scores[i]!.scores;
    for (const method of ['adversarial', 'nll', 'entropy', 'margin'] as const) {
      const value = expected[method]!;
      expect(Math.abs(got[method]! - value), `${method} of ${i}`).toBeLessThan(1e-5 + 1e-3 * Math.abs(value));
    }
  }
}
