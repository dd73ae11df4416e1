import { join } from 'node:path';
import { pino } from 'pino';
import { lastValueFrom, type Observable, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configSchema } from '#gateway/config.js';
import { EngineModel, Models, type ServedModel, startGateway } from '#gateway/index.js';
import { chatSchema, parse } from '#gateway/request.js';
import { Scorer } from '#gateway/upstream/scorer.js';
import { openUpstreamModel, type UpstreamModel } from '#gateway/upstream/upstream-model.js';
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

interface Run {
  /** An upstream that runs, or one to be started. */
  readonly upstream: EngineUpstreamOptions | string;
  readonly changes?: object;
  readonly scorer?: Scorer;
}

async function withModel<T>(
  { upstream: options, scorer }: Pick<Run, 'upstream' | 'scorer'>,
  use: (model: UpstreamModel, upstream: EngineUpstream | null) => Promise<T>,
): Promise<T> {
  const upstream = typeof options === 'string' ? null : await EngineUpstream.start(engine, options);
  const url = upstream?.url ?? options;
  const config = configSchema.parse({ models: { reasoner: { upstreams: [{ url }] } } }).models?.reasoner;
  if (!config || !('upstreams' in config)) throw new TypeError('no model');
  const by = scorer ?? (await Scorer.open(scoring, { logger: silent }));
  const model = openUpstreamModel('reasoner', config, { scorer: by });
  try {
    return await use(model, upstream);
  } finally {
    await model.close();
    await upstream?.close();
  }
}

async function events(model: ServedModel, changes: object): Promise<Observable<GuardEvent>> {
  const prepared = await model.prepare(parse(chatSchema, chatBody(changes)), { canRetract: true });
  return prepared.start(new FlowGate());
}

const collect = ({ changes = {}, ...run }: Run): Promise<GuardEvent[]> =>
  withModel(run, async (model) => lastValueFrom((await events(model, changes)).pipe(toArray())));

const embedded = async (changes: object): Promise<GuardEvent[]> =>
  lastValueFrom((await events(await EngineModel.open('reasoner', engine), changes)).pipe(toArray()));

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

describe('an upstream with a scorer', () => {
  const changes = { guard: { methods: [...METHODS] } };

  it.each(Object.entries(DIALECTS))('is scored like the embedded model: %s', async (_name, upstream) => {
    const events = await collect({ upstream, changes });
    await expectAsEmbedded(events, upstream.logprobs ?? false);
  });

  it("is scored like the embedded model: flinch's own gateway", async () => {
    const models = new Models([await EngineModel.open('reasoner', engine)]);
    const gateway = await startGateway({ models, host: '127.0.0.1', port: 0, logger: silent });
    try {
      await expectAsEmbedded(await collect({ upstream: `${gateway.url}/v1`, changes }), true);
    } finally {
      await gateway.close();
    }
  });

  async function expectAsEmbedded(events: readonly GuardEvent[], logprobs: boolean): Promise<void> {
    const own = ending(await embedded(changes));
    const { tokens, scores, text } = ending(events);
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
      if (logprobs) expect(token.logprob).toBeCloseTo(own.tokens[i]!.logprob!, 5);
      else expect(token.logprob).toBeNull();
    }
  }
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
