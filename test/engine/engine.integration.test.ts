import { cp, mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  Engine,
  type EngineError,
  type GeneratedToken,
  type Generation,
  type ProcessLoss,
} from '#src/index.js';
import { REASONER } from '../support/golden.js';
import { kill } from '../support/process.js';
import { endless, greedy } from '../support/requests.js';

let engine: Engine;
beforeEach(async () => {
  engine = await Engine.open(REASONER, { maxStreams: 4 });
});
afterEach(async () => {
  await engine.close();
});

async function readAll(generation: Generation): Promise<GeneratedToken[]> {
  const tokens: GeneratedToken[] = [];
  for (let item = await generation.next(); item.type !== 'end'; item = await generation.next())
    tokens.push(item);
  return tokens;
}

const textOf = (tokens: readonly GeneratedToken[]): string => tokens.map(({ text }) => text).join('');

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: EngineError) => error.code,
  );
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !condition(); i++) await setTimeout(10);
  expect(condition()).toBe(true);
}

describe('generation', () => {
  it('answers the question and ends at the end token, which is no part of the response', async () => {
    const generation = await engine.generate(greedy(engine));
    const tokens = await readAll(generation);
    expect(textOf(tokens)).toMatch(/11 - 3 = 8.*8 \+ 67 = 75.*75 \+ 14 = 89.*89\.$/s);
    expect(tokens.map(({ index }) => index)).toEqual(tokens.map((_, i) => i));
    expect(engine.checkpoint.tokenizer.decode(tokens.map(({ id }) => id))).toBe(textOf(tokens));
    expect(await generation.next()).toEqual({ type: 'end', reason: 'stop', tokens: tokens.length });
  });

  it('needs the prompt alone: the checkpoint says how it is drawn and when it ends', async () => {
    const { promptIds } = greedy(engine);
    const { sampling, ...rest } = engine.complete({ promptIds, client: 'c' });
    const { temperature = 0, topK, topP } = engine.checkpoint.generation;
    expect(sampling).toMatchObject({ temperature, topK: topK ?? 0, topP: topP ?? 1 });
    expect(rest).toEqual({
      promptIds,
      client: 'c',
      stop: [],
      topLogprobs: 0,
      endIds: engine.checkpoint.eosTokenIds,
      maxTokens: engine.contextLength - promptIds.length,
    });
    const asked = { promptIds, sampling: { temperature: 1.5, topK: undefined } };
    const whole = engine.complete(asked);
    expect(whole.sampling).toMatchObject({ temperature: 1.5, topK: 0 });
    expect(engine.complete(whole)).toEqual(whole);
    const generation = await engine.generate({ promptIds, sampling: { temperature: 0 } });
    expect(textOf(await readAll(generation))).toMatch(/89\.$/);
    expect(await generation.next()).toMatchObject({ type: 'end', reason: 'stop' });
  });

  it('ends before a stop string that spans tokens', async () => {
    const whole = textOf(await readAll(await engine.generate(greedy(engine))));
    const generation = await engine.generate(greedy(engine, { stop: ['never', '= 75.\n'] }));
    expect(textOf(await readAll(generation))).toBe(whole.slice(0, whole.indexOf('= 75.\n')));
    expect(await generation.next()).toMatchObject({ reason: 'stop' });
  });

  it('refuses a text that does not fit the context', async () => {
    expect(await codeOf(engine.generate(greedy(engine, { maxTokens: 1000 })))).toBe('too_long');
  });
});

describe('several streams', () => {
  it('are limited in number, and a place is free again after an end and after a cancellation', async () => {
    const open = await Promise.all(Array.from({ length: 4 }, () => engine.generate(endless(engine))));
    expect(await codeOf(engine.generate(endless(engine)))).toBe('overloaded');
    open[0]!.cancel();
    const next = await engine.generate(greedy(engine, { maxTokens: 1 }));
    await readAll(next);
    expect(engine.status().streams).toBe(3);
    for (const generation of open) generation.cancel();
    expect(engine.status().streams).toBe(0);
  });
});

describe('a process that dies', () => {
  it('takes its generation along with a clear error, and the next request finds a new one', async () => {
    const generation = await engine.generate(endless(engine));
    await generation.next();
    kill(engine.status().decode.pid);
    expect(await codeOf(readAll(generation))).toBe('crashed');
    expect(engine.status().streams).toBe(0);
    expect(await readAll(await engine.generate(greedy(engine, { maxTokens: 3 })))).toHaveLength(3);
    expect(engine.status().decode.restarts).toBe(1);
  });

  it('is told of, with how it died, also where nothing was under way, until nobody listens', async () => {
    await engine.start();
    const heard: ProcessLoss[] = [];
    const stop = engine.onLoss((loss) => heard.push(loss));
    for (const expected of [1, 1]) {
      const { pid, restarts } = engine.status().decode;
      kill(pid);
      await until(
        () => engine.status().decode.restarts > restarts && engine.status().decode.device !== undefined,
      );
      expect(heard).toHaveLength(expected);
      stop();
    }
    expect(heard).toEqual([{ role: 'decode', what: 'died', reason: 'SIGKILL' }]);
  });

  it('survives messages to a process that is dying', async () => {
    const generation = await engine.generate(endless(engine));
    kill(engine.status().decode.pid);
    const others = Array.from({ length: 3 }, () => engine.generate(endless(engine)).then(readAll));
    generation.cancel();
    for (const other of await Promise.allSettled(others)) {
      if (other.status === 'rejected')
        expect(other.reason).toMatchObject({ type: 'engine', code: 'crashed' });
    }
    expect(engine.status().streams).toBe(0);
  });

  it('is tried again at the next request when it could not start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'flinch-engine-'));
    await cp(REASONER, folder, { recursive: true });
    const weights = join(folder, 'model.safetensors');
    const broken = await Engine.open(folder);
    try {
      await truncate(weights, 1000);
      const heard: ProcessLoss[] = [];
      broken.onLoss((loss) => heard.push(loss));
      const error = await broken.generate(greedy(broken)).catch((reason: EngineError) => reason);
      expect(error).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('decode process could not be started'),
      });
      const reason = expect.stringContaining('could not be started');
      expect(heard).toEqual([{ role: 'decode', what: 'unavailable', reason }]);
      await cp(join(REASONER, 'model.safetensors'), weights);
      expect(await readAll(await broken.generate(greedy(broken, { maxTokens: 2 })))).toHaveLength(2);
    } finally {
      await broken.close();
      await rm(folder, { recursive: true });
    }
  });

  it('is not started again once the engine is closed', async () => {
    await engine.start();
    const { decode, score } = engine.status();
    await Promise.all([engine.close(), engine.close()]);
    for (const pid of [decode.pid!, score.pid!]) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(await codeOf(engine.generate(endless(engine)))).toBe('closed');
  });
});

describe('what waits for a process', () => {
  it('is the texts that have asked it for something', async () => {
    const { checkpoint } = engine;
    await engine.start();
    const waiting = () => [engine.status().decode.waiting, engine.status().score.waiting];
    const generation = await engine.generate(endless(engine));
    expect(waiting()).toEqual([0, 0]);
    const token = generation.next();
    expect(waiting()).toEqual([1, 0]);
    await token;
    const text = await engine.openSequence();
    const ids = checkpoint.tokenizer.encode('so many words');
    const pass = text.pass({ newIds: ids, start: 0, from: 1, to: ids.length, adversary: null });
    expect(waiting()).toEqual([0, 1]);
    await pass;
    expect(waiting()).toEqual([0, 0]);
    // Nobody waits for what is gone.
    const last = text.pass({ newIds: [], start: 0, from: 1, to: ids.length, adversary: null });
    text.release();
    expect(waiting()).toEqual([0, 0]);
    expect(await codeOf(last)).toBe('closed');
    generation.cancel();
  });

  it('says how long each pass took, until nobody listens, and nothing of one that failed', async () => {
    let now = 0;
    const timed = await Engine.open(REASONER, { now: () => now });
    const heard: number[] = [];
    const stop = timed.onPass((ms) => heard.push(ms));
    const text = await timed.openSequence();
    const ids = timed.checkpoint.tokenizer.encode('so many words');
    const pass = async (to: number): Promise<void> => {
      const passed = text.pass({
        newIds: heard.length === 0 ? ids : [],
        start: 0,
        from: 1,
        to,
        adversary: null,
      });
      now += 40;
      await passed;
    };
    await pass(ids.length);
    expect(heard).toEqual([40]);
    expect(await codeOf(pass(10_000))).toBe('failed');
    stop();
    await pass(ids.length);
    expect(heard).toEqual([40]);
    await timed.close();
  });
});
