import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { majority } from '#src/index.js';
import { DEFAULT_METHODS, PROBABILITY_METHODS } from '#src/uncertainty/method-names.js';
import { useFolder } from '../../support/cli.js';
import {
  chatBody,
  mergeTokens,
  ofType,
  post,
  readChunks,
  type SocketEvent,
  sseData,
  TestSocket,
  useGateway,
} from '../../support/gateway.js';
import { calibratedReasoner } from '../../support/guarded-model.js';
import { GUESSED_QUESTION } from '../../support/requests.js';

const folder = useFolder();
/** Of the steps of its answers some have scores above three quarters of these ordinary ones, some below. */
const gateway = useGateway(() => calibratedReasoner(folder.path('reasoner'), 0.00015));

const rollback = { action: 'rollback', rate: 0.5, max_rollbacks: 3, candidates: 2 };
const all = { rate: 0.999 };
const messages = [{ role: 'user' as const, content: GUESSED_QUESTION }];
const done = ofType('generation.done');

const step = z.object({ step: z.number(), from: z.number(), to: z.number(), text: z.string() });
const rollbackDone = z.object({
  rollback: z.number(),
  outcome: z.enum(['replaced', 'kept']),
  chosen: z.number(),
  candidates: z.array(z.object({ text: z.string(), tokens: z.number(), score: z.number().nullable() })),
});
const usage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  generated_tokens: z.number().optional(),
});
const ending = z.object({ finish_reason: z.string(), usage });
const placed = z.object({ index: z.number(), text: z.string().optional() });

async function run(guard: object, changes: object = {}): Promise<SocketEvent[]> {
  const socket = await TestSocket.open(gateway.url);
  socket.send({ type: 'generation.create', ...chatBody({ guard, ...changes }) });
  const end = await socket.event((event) => done(event) || event.type === 'error');
  expect(end.type).toBe('generation.done');
  socket.close();
  return socket.events;
}

/** What a client has of the response after these events; every promise of the protocol about their order is checked. */
function follow(events: readonly SocketEvent[]): { text: string; tokens: number; unscored: number[] } {
  const tokens: string[] = [];
  const scored = new Set<number>();
  const steps: z.output<typeof step>[] = [];
  let settled = 0;
  let isWritten = false;
  for (const event of events) {
    isWritten ||= event.type === 'text.done';
    if (event.type === 'token.delta') {
      const { index, text } = placed.parse(event);
      expect(index).toBe(tokens.length);
      tokens.push(text!);
    } else if (event.type === 'score.delta') {
      const { index } = placed.parse(event);
      expect(index).toBeLessThan(tokens.length);
      // Passes follow the steps that stay, and the text.
      if (event.pending) expect(index).toBeGreaterThanOrEqual(settled);
      else if (!isWritten) expect(index).toBeLessThan(settled);
      scored.add(index);
    } else if (event.type === 'token.retracted') {
      const { from, tokens: count } = z.object({ from: z.number(), tokens: z.number() }).parse(event);
      expect(from).toBeGreaterThanOrEqual(settled);
      expect(tokens.splice(from)).toHaveLength(count);
      for (const index of scored) if (index >= from) scored.delete(index);
    } else if (event.type === 'step.done') {
      const { from, to, text, step: number } = step.parse(event);
      expect([number, from]).toEqual([steps.length, settled]);
      expect(text).toBe(tokens.slice(from, to).join(''));
      for (let index = from; index < to; index++) expect(scored).toContain(index);
      steps.push(step.parse(event));
      settled = to;
    }
  }
  const unscored = tokens.flatMap((_, index) => (scored.has(index) ? [] : [index]));
  return { text: tokens.join(''), tokens: tokens.length, unscored };
}

describe('rollback over WebSocket', () => {
  const seeds = [1, 2, 3, 4, 5];
  const runs: SocketEvent[][] = [];
  beforeAll(async () => {
    for (const seed of seeds) runs.push(await run(rollback, { messages, temperature: 1, seed }));
  });

  it('retracts what was written at once, and ends with what its events add up to', () => {
    for (const events of runs) {
      expect(events.map(({ offset }) => offset)).toEqual(events.map((_, i) => i));
      const { tokens, unscored } = follow(events);
      const end = ending.parse(events.at(-1));
      expect(end.usage.completion_tokens).toBe(tokens);
      expect(unscored).toEqual([]);
      const corrected = events.some(ofType('rollback.started'));
      expect((end.usage.generated_tokens ?? tokens) > tokens).toBe(corrected);
    }
    expect(runs.flat().some(ofType('token.retracted'))).toBe(true);
  });

  it('says of each flagged step what was considered, and goes on with what most of them say', () => {
    for (const events of runs) {
      const flagged = events.filter(ofType('step.flagged')).filter(({ action }) => action === 'rollback');
      const outcomes = events.filter(ofType('rollback.done')).map((event) => rollbackDone.parse(event));
      expect(outcomes.length).toBeLessThanOrEqual(rollback.max_rollbacks);
      expect(flagged).toHaveLength(outcomes.length);
      for (const [i, { rollback: number, chosen, candidates }] of outcomes.entries()) {
        expect(number).toBe(i);
        expect(candidates).toHaveLength(rollback.candidates + 1);
        expect(candidates[0]!.text).toBe(flagged[i]!.text);
        expect(chosen).toBe(majority()(candidates));
      }
    }
  });

  it('shows nothing that is retracted when it is held', async () => {
    const events = await run({ ...rollback, delivery: 'held' }, { messages, temperature: 1, seed: 2 });
    expect(events[0]).toMatchObject({ guard: { delivery: 'held' } });
    expect(events.filter(ofType('token.retracted'))).toEqual([]);
    const { tokens, unscored } = follow(events);
    expect(ending.parse(events.at(-1)).usage.completion_tokens).toBe(tokens);
    expect(unscored).toEqual([]);
    for (const { held } of events.filter(ofType('step.done'))) {
      expect(held).toMatchObject({ tokens: expect.any(Number), ms: expect.any(Number) });
    }
  });

  it('counts on cancelling what stands then', async () => {
    const socket = await TestSocket.open(gateway.url);
    const guard = { ...rollback, ...all };
    socket.send({ type: 'generation.create', ...chatBody({ guard, temperature: 1, seed: 3 }) });
    const { response_id } = await socket.event(ofType('rollback.started'));
    socket.send({ type: 'generation.cancel', response_id });
    const end = ending.parse(await socket.event(done));
    expect(end.finish_reason).toBe('cancelled');
    expect(end.usage.completion_tokens).toBe(follow(socket.events).tokens);
    socket.close();
    await gateway.idle();
  });
});

describe('what the guard annotates', () => {
  it('is there without asking: steps, risks, and whether they are calibrated', async () => {
    const events = await run({ rate: 0.5 });
    expect(events[0]).toMatchObject({
      guard: { method: 'nll', action: 'annotate', delivery: 'immediate', calibrated: true },
    });
    expect(events[0]?.guard).not.toHaveProperty('warnings');
    follow(events);
    const risk = z.object({ risk: z.record(z.string(), z.number().min(0).max(1)) });
    const [first, all] = [true, false].map((isFirst) =>
      events.filter((event) => event.type === 'score.delta' && 'pending' in event === isFirst),
    );
    expect(all).toHaveLength(first!.length);
    for (const event of first!) expect(Object.keys(risk.parse(event).risk)).toEqual(PROBABILITY_METHODS);
    for (const event of all!) expect(Object.keys(risk.parse(event).risk)).toEqual(DEFAULT_METHODS);
    const verdicts = events.filter(ofType('step.done'));
    const rated = z.object({ risk: z.number(), flagged: z.boolean(), calibrated: z.literal(true) });
    for (const event of verdicts) {
      const { risk, flagged } = rated.parse(event);
      expect(flagged).toBe(risk >= 0.5);
    }
    expect(events.filter(ofType('step.flagged'))).toHaveLength(verdicts.filter((e) => e.flagged).length);
    expect(verdicts.some(({ flagged }) => flagged)).toBe(true);
    expect(ending.parse(events.at(-1)).usage).not.toHaveProperty('generated_tokens');
  });

  it('says that no calibration holds under other settings, and of which methods', async () => {
    const other = await run({
      scoring: { alpha: 1e-3 },
      method: 'adversarial',
      methods: ['adversarial', 'nll'],
    });
    const warnings = [expect.stringMatching(/alpha 0.0001, not 0.001.*adversarial/)];
    expect(other[0]).toMatchObject({ guard: { calibrated: false, warnings } });
    expect(other.find(ofType('step.done'))).toMatchObject({ calibrated: false });
    const byNll = await run({ scoring: { alpha: 1e-3 }, methods: ['adversarial', 'nll'] });
    expect(byNll[0]).toMatchObject({ guard: { calibrated: true, warnings } });
  });

  it('goes by the first method where neither that of the calibration nor the default is asked for', async () => {
    const events = await run({ methods: ['margin', 'adversarial'] }, { max_tokens: 20 });
    expect(events[0]).toMatchObject({ guard: { method: 'margin' } });
    expect(events.find(ofType('step.done'))).toMatchObject({ method: 'margin' });
  });

  it('is not there without a guard', async () => {
    const events = await run({ enabled: false, action: 'stop' }, { max_tokens: 5 });
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(['generation.created', 'token.delta', 'generation.done']),
    );
    expect(events[0]?.guard).not.toHaveProperty('calibrated');
  });
});

describe('stop', () => {
  it('ends the generation at a flagged step', async () => {
    const events = await run({ action: 'stop', ...all });
    expect(events.findLast(({ type }) => type !== 'score.delta' && !type.endsWith('.done'))).toMatchObject({
      type: 'step.flagged',
      action: 'stop',
      step: 0,
    });
    const end = ending.parse(events.at(-1));
    expect(end.finish_reason).toBe('content_filter');
    expect(end.usage.completion_tokens).toBe(follow(events).tokens);
  });
});

describe('the guard in shapes of OpenAI', () => {
  let client: OpenAI;
  beforeAll(() => {
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });
  const request = (guard: object) => ({
    model: 'reasoner',
    temperature: 1,
    seed: 2,
    messages,
    guard,
  });

  it('is held for rollback, so that the deltas add up to the response', async () => {
    const body = { ...request(rollback), stream: true, stream_options: { include_usage: true } };
    const { chunks, done: whole } = await readChunks(await post(gateway.url, body));
    expect(whole).toBe(true);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    const tokens = mergeTokens(chunks);
    expect(tokens.map((each) => each.text).join('')).toBe(text);
    expect(tokens.every(({ scores }) => scores)).toBe(true);
    const reported = usage.parse(chunks.at(-1)!.usage);
    expect(reported.completion_tokens).toBe(tokens.length);
    expect(reported.generated_tokens).toBeGreaterThan(tokens.length);
  });

  it('says beside the deltas what was done, in the order of the other transport', async () => {
    const response = await post(gateway.url, { ...request(rollback), stream: true });
    const part = z.object({
      flinch: z.object({ guard: z.looseObject({}).optional(), events: z.array(z.unknown()).optional() }),
    });
    const data: string[] = [];
    for await (const each of sseData(response)) if (each !== '[DONE]') data.push(each);
    const parts = data.map((each) => part.parse(JSON.parse(each)).flinch);
    expect(parts[0]?.guard).toMatchObject({ delivery: 'held', calibrated: true });
    const events = z.array(z.looseObject({ type: z.string() })).parse(parts.flatMap((p) => p.events ?? []));
    const types = new Set(events.map(({ type }) => type));
    expect(types).toContain('rollback.done');
    expect(types).not.toContain('token.retracted');
    const steps = events.filter(({ type }) => type === 'step.done').map((each) => step.parse(each));
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.map(({ step: number }) => number)).toEqual(steps.map((_, i) => i));
  });

  it('is read by the official client, whole, with its steps and rollbacks', async () => {
    const completion = await client.chat.completions.create({ ...request(rollback), logprobs: true });
    const { flinch } = z
      .looseObject({
        flinch: z.looseObject({ steps: z.array(step), rollbacks: z.array(rollbackDone), guard: z.unknown() }),
      })
      .parse(completion);
    expect(flinch.guard).toMatchObject({ delivery: 'held' });
    expect(flinch.steps.map(({ text }) => text).join('')).toBe(completion.choices[0]?.message.content);
    expect(flinch.rollbacks.length).toBeGreaterThan(0);
    expect(usage.parse(completion.usage).generated_tokens).toBeGreaterThan(
      completion.usage!.completion_tokens,
    );
  });

  it('ends with content_filter where it stops', async () => {
    const stopped = await client.chat.completions.create({ ...request({ action: 'stop', ...all }) });
    expect(stopped.choices[0]?.finish_reason).toBe('content_filter');
    const stream = client.chat.completions.stream({ ...request({ action: 'stop', ...all }) });
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('content_filter');
  });
});
