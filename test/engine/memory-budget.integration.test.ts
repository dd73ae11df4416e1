import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeMemory, scoreMemory } from '#src/engine/memory.js';
import { MemoryBudget } from '#src/engine/memory-budget.js';
import { DEFAULT_SCORING, Engine, scoreResponse } from '#src/index.js';
import { REASONER } from '../support/golden.js';
import { greedy } from '../support/requests.js';

describe('MemoryBudget', () => {
  const need = (kept: number, run: number) => ({ kept, run });

  it('adds up what texts keep, and takes the largest of their runs', () => {
    const budget = new MemoryBudget(100);
    budget.admit('score', need(20, 30), 1);
    budget.admit('score', need(10, 40), 1);
    expect(budget.used).toBe(70);
    budget.admit('decode', need(0, 10), 1); // the other process, at the same time
    expect(budget.used).toBe(80);
    expect(() => budget.admit('score', need(30, 10), 7)).toThrow(
      expect.objectContaining({ code: 'overloaded', message: expect.stringContaining('7 tokens') }),
    );
    budget.admit('score', need(20, 10), 1);
    expect(budget.used).toBe(100);
  });

  it('takes back what is released, once', () => {
    const budget = new MemoryBudget(100);
    const release = budget.admit('decode', need(60, 0), 1);
    release();
    release();
    expect(budget.used).toBe(0);
    budget.admit('decode', need(100, 0), 1);
  });

  it('refuses for good what would not fit alone', () => {
    expect(() => new MemoryBudget(100).admit('score', need(90, 11), 1)).toThrow(
      expect.objectContaining({
        code: 'memory',
        message: expect.stringContaining('fewer tokens, samples or candidates'),
      }),
    );
  });
});

describe('an engine with little memory', () => {
  const POSITIONS = 40;
  let engine: Engine;
  let perStream: number;
  let perText: number;

  beforeAll(async () => {
    const probe = await Engine.open(REASONER);
    const { kept, run } = decodeMemory(probe.machine('decode'), POSITIONS);
    perStream = kept + run;
    const size = { positions: POSITIONS, window: POSITIONS, scored: POSITIONS, replicas: 0 };
    const text = scoreMemory(probe.machine('score'), size);
    perText = text.kept + text.run;
    await probe.close();
    // A tenth is for prompts that were read.
    engine = await Engine.open(REASONER, { memoryLimit: (Math.max(perStream, perText) + 1000) / 0.9 });
  });
  afterAll(async () => {
    await engine.close();
  });

  it('refuses a text beside another, and takes it afterwards', async () => {
    const text = await engine.openSequence({ positions: POSITIONS });
    await expect(engine.openSequence({ positions: POSITIONS })).rejects.toMatchObject({ code: 'overloaded' });
    text.release();
    expect(engine.memory.used).toBe(0);
    (await engine.openSequence({ positions: POSITIONS })).release();
  });

  it('refuses a text that it could never hold', async () => {
    const ids = Array.from({ length: 400 }, () => 5);
    const offline = { ...DEFAULT_SCORING, schedule: { kind: 'offline' } } as const;
    await expect(scoreResponse(engine, [1], ids, offline)).rejects.toMatchObject({ code: 'memory' });
    expect(engine.memory.used).toBe(0);
  });

  it('holds nothing once a generation has ended, was cancelled, or could not start', async () => {
    const request = greedy(engine, { maxTokens: 5 });
    const generation = await engine.generate({ ...request, promptIds: [1, 2, 3] });
    expect(engine.memory.used).toBeGreaterThan(0);
    while ((await generation.next()).type !== 'end');
    expect(engine.memory.used).toBe(0);
    (await engine.generate({ ...request, promptIds: [1, 2, 3] })).cancel();
    expect(engine.memory.used).toBe(0);
  });
});
