import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { lastValueFrom, type Observable, take, tap, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configSchema } from '#gateway/config/gateway-config.js';
import { EngineModel, Models, type ServedModel, startGateway } from '#gateway/index.js';
import { Metrics } from '#gateway/metrics/metrics.js';
import { openModels } from '#gateway/open-models.js';
import { chatSchema, parse } from '#gateway/requests/generation-request.js';
import { openUpstreamModel } from '#gateway/upstream/open-upstream-model.js';
import { Scorer } from '#gateway/upstream/scoring/scorer.js';
import type { UpstreamModel } from '#gateway/upstream/upstream-model.js';
import {
  DEFAULT_METHODS,
  DEFAULT_SCORING,
  Engine,
  encodePrompt,
  FlowGate,
  type GuardEvent,
  METHODS,
  modelId,
  type ScoreEvent,
  type ScorerMismatchEvent,
  SequenceScorer,
  type TokenEvent,
} from '#src/index.js';
import { PartAligner } from '#src/steps/step-aligner.js';
import { answerOf } from '../../../support/answers.js';
import { changedReasoner, toBfloat16 } from '../../../support/changed-model.js';
import { useFolder } from '../../../support/cli.js';
import { EngineUpstream, type EngineUpstreamOptions } from '../../../support/engine-upstream.js';
import { chatBody } from '../../../support/gateway.js';
import { REASONER } from '../../../support/golden.js';
import { calibratedReasoner } from '../../../support/guarded-model.js';
import { kill } from '../../../support/process.js';
import { GUESSED_QUESTION, LONG_QUESTION } from '../../../support/requests.js';
import { openShared, sharedReasoner } from '../../../support/shared-engines.js';

const folder = useFolder();
const silent = pino({ level: 'silent' });
/** Writes, and scores what it writes itself. */
let engine: Engine;
/** Scores what the upstream writes. */
let scoring: Engine;
beforeAll(async () => {
  engine = await sharedReasoner();
  scoring = await openShared(await calibratedReasoner(folder.path('scorer'), 0.00015));
});
afterAll(async () => {
  await scoring.close();
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

/** Every token is scored, however busy the machine is, by passes of an adversary. */
async function events(model: ServedModel, changes: object): Promise<Observable<GuardEvent>> {
  const body: { readonly model: string; readonly guard?: object } = chatBody(changes);
  const usual = { lag: 'wait', methods: [...DEFAULT_METHODS] };
  const request = parse(chatSchema, { ...body, guard: { ...usual, ...body.guard } });
  return (await answerOf(model, request)).start(new FlowGate());
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
  const changes = { guard: { methods: [...METHODS] }, max_tokens: 24 };
  let own: ReturnType<typeof ending>;
  beforeAll(async () => {
    own = ending(await embedded(changes));
  });

  it.each(Object.entries(DIALECTS))('is scored like the embedded model: %s', async (_name, upstream) => {
    const events = await collect({ upstream, changes });
    await expectAsEmbedded(events, upstream.logprobs ?? false);
  });

  it("is scored like the embedded model: flinch's own gateway", async () => {
    const models = new Models([await EngineModel.open('reasoner', engine)]);
    const gateway = await startGateway({ models, config: { listen: { port: 0 } }, logger: silent });
    try {
      await expectAsEmbedded(await collect({ upstream: `${gateway.url}/v1`, changes }), true);
    } finally {
      await gateway.close();
    }
  });

  async function expectAsEmbedded(events: readonly GuardEvent[], logprobs: boolean): Promise<void> {
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
  const messages = [{ role: 'user', content: GUESSED_QUESTION }] as const;
  const toStep = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2 };
  const byMajority = { ...toStep, candidates: 3 };
  const held = { ...toStep, delivery: 'held' };

  it.each<[string, EngineUpstreamOptions, object[]]>([
    ['ids of prompt and text', { tokenIds: true, logprobs: true, completions: true }, [toStep, held]],
    ['continue_final_message', { tokenIds: true, logprobs: true, continues: true }, [byMajority, toStep]],
    ['continue_final_message, text alone', { continues: true }, [toStep, held]],
    ['a prompt as text', { logprobs: true, completions: true }, [byMajority, toStep]],
  ])('ends in a text whose scores are those of the text alone: %s', async (_name, upstream, guards) => {
    let replaced = 0;
    for (const [seed, guard] of guards.entries()) {
      const events = await collect({ upstream, changes: { messages, guard, temperature: 1, seed } });
      if (guard === held) expect(events.some(({ type }) => type === 'token.retracted')).toBe(false);
      replaced += events.filter(
        (event) => event.type === 'rollback.done' && event.outcome === 'replaced',
      ).length;
      expect(events.some(({ type }) => type === 'scorer.mismatch')).toBe(false);
      expect(events.at(-1)?.type).toBe('generation.done');
      const { tokens, scores } = ending(events);
      await expectScoredAlone(tokens, scores, encodePrompt(engine.checkpoint, messages));
    }
    expect(replaced).toBeGreaterThan(0);
  });
});

describe('a generation of a scored upstream', () => {
  const upstream = DIALECTS['ids and log-probabilities']!;

  it('is scored after the prompt that the server has, whatever the template of the scorer says', async () => {
    const system = 'Answer in one word.';
    const { messages } = chatBody();
    const promptIds = encodePrompt(engine.checkpoint, [{ role: 'system', content: system }, ...messages]);
    const events = await collect({ upstream: { ...upstream, system } });
    const { tokens, scores } = ending(events);
    await expectScoredAlone(tokens, scores, promptIds);
    expect(events.at(-1)).toMatchObject({ usage: { promptTokens: promptIds.length } });
  });

  it('goes on as it stands where the server fails to continue it', async () => {
    const guard = { action: 'rollback', rate: 0.8, candidates: 1 };
    const changes = { guard, temperature: 1, seed: 1 };
    const events = await collect({ upstream: { ...upstream, completions: true, fails: true }, changes });
    const rollbacks = events.filter((event) => event.type === 'rollback.done');
    for (const done of rollbacks) expect(done).toMatchObject({ outcome: 'kept', chosen: 0 });
    // From the start a candidate is an answer of its own, and only what follows it fails; later the candidate does.
    expect(new Set(rollbacks.map(({ candidates }) => candidates.length))).toEqual(new Set([2, 1]));
    expect(events.at(-1)?.type).toBe('generation.done');
    expect(scoring.memory.used).toBe(0);
  });

  /** Its first line is a reasoning, the second the text, and all else the arguments of a call; line ends are marks. */
  function lines(): NonNullable<EngineUpstreamOptions['deltaOf']> {
    let line = 0;
    return (index, text) => {
      if (index === 0) line = 0;
      const at = line;
      if (text.includes('\n')) line += 1;
      if (at === 0) return text === '\n' ? {} : { reasoning: text };
      if (at === 1) return { content: text };
      return { tool_calls: [{ index: 0, function: { arguments: text } }] };
    };
  }

  it.each(['immediate', 'held'])(
    'is scored with reasoning and calls whose tokens are told, %s',
    async (delivery) => {
      const told = { ...upstream, deltaOf: lines() };
      const own = ending(await embedded({}));
      const events = await collect({ upstream: told, changes: { guard: { delivery } } });
      const { tokens, scores } = ending(events);
      expect(tokens.map(({ id, text }) => [id, text])).toEqual(own.tokens.map(({ id, text }) => [id, text]));
      await expectScoredAlone(tokens, scores);
      const parts = tokens.map(({ part }) => part);
      expect(new Set(parts)).toEqual(new Set(['reasoning', undefined, 'tool_calls']));
      expect(scores.map(({ part }) => part)).toEqual(parts);
      const steps = events.filter((event) => event.type === 'step.done');
      for (const { from, to, part } of steps) expect(new Set(parts.slice(from, to))).toEqual(new Set([part]));
      expect(steps.at(-1)).toMatchObject({ part: 'tool_calls', to: tokens.length });
      expect(steps.every(({ score }) => score !== null)).toBe(true);
      const said = events.filter((event) => event.type === 'upstream.delta');
      expect(said.every(({ unscored }) => unscored.length === 0)).toBe(true);
      expect(events.at(-1)).toMatchObject({ verdict: { steps: steps.length, unscoredTokens: 0 } });
    },
  );

  it.each<[string, EngineUpstreamOptions]>([
    ['ids', { logprobs: true }],
    ['log-probabilities', { tokenIds: true }],
  ])('has no scores after reasoning whose tokens are told without %s', async (_name, dialect) => {
    const events = await collect({ upstream: { ...dialect, deltaOf: lines() } });
    const { tokens, scores, text } = ending(events);
    expect(text).not.toBe('');
    expect(tokens.every(({ id }) => id === null)).toBe(true);
    expect(scores.every(({ missing }) => missing?.includes('adversarial'))).toBe(true);
    const unscored = events.flatMap((event) => (event.type === 'upstream.delta' ? event.unscored : []));
    expect(new Set(unscored)).toEqual(new Set(['reasoning', 'tool_calls']));
    expect(events.at(-1)).toMatchObject({ verdict: { flagged: null, reason: 'unscored_tokens' } });
  });

  it('ends with its length where it was asked to, and counts the tokens of the prompt', async () => {
    const events = await collect({ upstream, changes: { max_tokens: 9 } });
    const promptTokens = encodePrompt(engine.checkpoint, chatBody().messages).length;
    const usage = { promptTokens, completionTokens: 9 };
    expect(events.at(-1)).toMatchObject({ finishReason: 'length', usage });
  });

  it('ends where the scorer has no room left, though the server has', async () => {
    const promptTokens = encodePrompt(engine.checkpoint, chatBody().messages).length;
    const small = await Engine.open(REASONER, { contextLength: promptTokens + 20 });
    try {
      const scorer = await Scorer.open(small, { logger: silent });
      const events = await collect({ upstream, scorer });
      const usage = { promptTokens, completionTokens: 20 };
      expect(events.at(-1)).toMatchObject({ finishReason: 'length', usage });
      expect(ending(events).scores).toHaveLength(20);
    } finally {
      await small.close();
    }
  });

  it('tells the server that nobody wants the rest, and leaves nothing behind', async () => {
    await withModel({ upstream }, async (model, server) => {
      const changes = { messages: [{ role: 'user', content: LONG_QUESTION }] };
      await lastValueFrom((await events(model, changes)).pipe(take(12)));
      for (let i = 0; i < 300 && (server!.cancelled === 0 || scoring.memory.used > 0); i++)
        await setTimeout(10);
      expect(server!.cancelled).toBe(1);
      expect(scoring.memory.used).toBe(0);
      expect(model.status()).toMatchObject({ streams: 0 });
    });
  });

  it('ends in an error where scoring fails, never in a clean verdict', async () => {
    await withModel({ upstream }, async (model) => {
      const changes = { messages: [{ role: 'user', content: LONG_QUESTION }] };
      const seen: GuardEvent[] = [];
      const all = (await events(model, changes)).pipe(
        tap((event) => {
          seen.push(event);
          if (seen.length === 20) kill(scoring.status().score.pid);
        }),
      );
      await expect(lastValueFrom(all)).rejects.toMatchObject({ code: 'crashed' });
      expect(seen.some(({ type }) => type === 'generation.done')).toBe(false);
    });
  });

  it('is refused where it does not fit into the context of the scorer', async () => {
    const content = 'Alice lies. '.repeat(500);
    const tooLong = collect({ upstream, changes: { messages: [{ role: 'user', content }] } });
    await expect(tooLong).rejects.toMatchObject({ status: 400, body: { code: 'context_length_exceeded' } });
    const tooMuch = collect({ upstream, changes: { max_tokens: 100_000 } });
    await expect(tooMuch).rejects.toMatchObject({ status: 400, body: { param: 'max_tokens' } });
  });
});

describe('the weights of a scorer', () => {
  const opened: Engine[] = [];
  afterAll(async () => {
    for (const other of opened) await other.close();
  });

  /** With it, what was logged and counted. */
  async function open(model: string) {
    const lines: string[] = [];
    const mismatches: number[] = [];
    const other = await Engine.open(model);
    opened.push(other);
    const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const onMismatch = ({ difference }: ScorerMismatchEvent) => mismatches.push(difference);
    return { scorer: await Scorer.open(other, { logger, onMismatch }), lines, mismatches };
  }
  const disagrees = /disagrees with the upstream/;
  /** The same vocabulary, and weights that have nothing to do with the embedded model's. */
  const others = (name: string): string =>
    changedReasoner(folder.path(name), (weights) => {
      for (const [i, weight] of weights.entries()) weights[i] = weight * (1 + 1.5 * Math.sin(i));
    });

  it.each(['ids and log-probabilities', 'log-probabilities alone'])(
    'are found to be others by what the server says: %s',
    async (dialect) => {
      const { scorer, lines, mismatches } = await open(others(`others, ${dialect}`));
      await withModel({ upstream: DIALECTS[dialect]!, scorer }, async (model) => {
        const first = await lastValueFrom((await events(model, {})).pipe(toArray()));
        const found = first.filter((event) => event.type === 'scorer.mismatch');
        expect(found).toHaveLength(1);
        expect(found[0]!.tokens).toBeGreaterThanOrEqual(16);
        expect(found[0]!.difference).toBeGreaterThan(found[0]!.tolerance);
        const answer = await answerOf(model, parse(chatSchema, chatBody()));
        expect(answer.guard.warnings).toContainEqual(expect.stringMatching(disagrees));
        await lastValueFrom(answer.start(new FlowGate()));
        expect(mismatches).toHaveLength(2);
        expect(lines.filter((line) => disagrees.test(line))).toHaveLength(1);
        expect(model.status()).toMatchObject({ scorer: { mismatches: 2, tolerance: 0.2 } });
      });
    },
  );

  it.each([
    ['text alone', true],
    ['ids alone', true],
    ['log-probabilities alone', false],
  ])('are said not to be verified where nothing can be compared: %s', async (dialect, unverified) => {
    await withModel({ upstream: DIALECTS[dialect]! }, async (model) => {
      const { guard } = await answerOf(model, parse(chatSchema, chatBody()));
      const said = (guard.warnings ?? []).some((warning) => warning.startsWith('not verified'));
      expect(said).toBe(unverified);
    });
  });

  it('come from the configuration, and are counted where they are others', async () => {
    const upstream = await EngineUpstream.start(engine, DIALECTS['ids and log-probabilities']);
    const scorer = others('others');
    const metrics = new Metrics();
    const { models } = configSchema.parse({
      models: { m: { upstreams: [{ url: upstream.url }], scorer } },
    });
    const { all, close } = await openModels(models!, { logger: silent, env: {}, metrics });
    try {
      await lastValueFrom(await events(all[0]!.model, {}));
      expect(all[0]!.model.status()).toMatchObject({
        ready: true,
        scorer: { model: 'others', mismatches: 1 },
      });
      expect(await metrics.text()).toContain('flinch_scorer_mismatches_total{model="m"} 1');
    } finally {
      await close();
      await upstream.close();
    }
  });

  const upstream = DIALECTS['ids and log-probabilities']!;
  it.each([
    ['the same', () => REASONER],
    ['rounded to bfloat16', () => changedReasoner(folder.path('bf16'), toBfloat16)],
  ])('pass for the same: %s', async (_name, model) => {
    const { scorer, mismatches } = await open(model());
    for (const seed of [1, 2, 3]) {
      const events = await collect({ upstream, changes: { temperature: 1, seed }, scorer });
      expect(events.some(({ type }) => type === 'scorer.mismatch')).toBe(false);
    }
    expect(mismatches).toEqual([]);
    expect(scorer.state.tokens).toBeGreaterThan(100);
    expect(scorer.state.difference).toBeLessThan(0.005);
  });
});

/** The final text, scored by itself with passes that end where its steps may begin. */
async function expectScoredAlone(
  tokens: readonly TokenEvent[],
  scores: readonly ScoreEvent[],
  promptIds = encodePrompt(engine.checkpoint, chatBody().messages),
): Promise<void> {
  const aligner = new PartAligner();
  const scorer = await SequenceScorer.open(engine, promptIds, DEFAULT_SCORING);
  const next = tokens.map((token) => ({ id: modelId(token), begins: aligner.begins(token.text, token) }));
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
