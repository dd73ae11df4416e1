import { describe, expect, it } from 'vitest';
import { floats, longs, openSession } from '#src/engine/ort-session.js';
import { findRival, outputStatistics, probabilitiesOf } from '#src/graphs/statistics-graph.js';
import { Graph } from '#src/onnx/graph.js';
import type { Value } from '#src/onnx/onnx-types.js';

const VOCAB = 6;

async function run(
  build: (g: Graph, tables: Value[], targets: Value) => Readonly<Record<string, Value>>,
  tables: readonly (readonly number[])[],
  targets: readonly number[],
  doubts?: readonly number[],
) {
  const g = new Graph();
  const inputs = tables.map((_, i) => g.input(`t${i}`, 'float32', ['scored', VOCAB]));
  const outputs = build(g, inputs, g.input('targets', 'int64', ['scored']));
  for (const [name, value] of Object.entries(outputs)) g.output(name, value);
  const session = await openSession(g, { threads: 1 });
  const rows = targets.length;
  const feeds = Object.fromEntries(
    tables.map((t, i) => [`t${i}`, floats(Float32Array.from(t), [rows, VOCAB])]),
  );
  const told = doubts && { doubts: floats(Float32Array.from(doubts), [rows]) };
  const result = await session.run({ ...feeds, targets: longs(targets, [rows]), ...told });
  return (name: string) => Array.from(result[name]!.data as Float32Array | BigInt64Array, Number);
}

const rivalOf = (g: Graph, before: Value, after: Value, targets: Value) =>
  findRival(g, before, g.op('Sub', [after, before]), targets);

describe('findRival', () => {
  const before = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05];
  const after = [0.3, 0.25, 0.25, 0.1, 0.05, 0.05];

  it('is the other token that grew most, not the most probable one', async () => {
    const read = await run((g, [p, q], x) => rivalOf(g, p!, q!, x), [before, after], [0]);
    expect(read('rival')).toEqual([2]);
    expect(read('rival_before')[0]).toBeCloseTo(0.1);
    expect(read('rival_after')[0]).toBeCloseTo(0.25);
  });

  it('is never the token itself, even if that grew most', async () => {
    const tables = [
      [...before, ...before],
      [...after, ...after],
    ];
    const read = await run((g, [p, q], x) => rivalOf(g, p!, q!, x), tables, [2, 1]);
    expect(read('rival')).toEqual([1, 2]);
  });

  it('is the token that shrank least when all others shrank', async () => {
    const shrunk = [0.9, 0.08, 0.005, 0.005, 0.005, 0.005];
    const read = await run((g, [p, q], x) => rivalOf(g, p!, q!, x), [before, shrunk], [0]);
    expect(read('rival')[0]).toBeGreaterThan(3);
  });
});

describe('statistics', () => {
  const p = [0.5, 0.2, 0.1, 0.1, 0.06, 0.04];
  const of = (targets: readonly number[]) =>
    run(
      (g, [logits], targets) => {
        outputStatistics(g, { logits: logits!, targets });
        return {};
      },
      [targets.flatMap(() => p.map(Math.log))],
      targets,
    );

  it('measures the margin to the best other token: the second where x is the first', async () => {
    const margin = (await of([0, 1, 5]))('margin');
    [1 - (0.5 - 0.2), 1 - (0.2 - 0.5), 1 - (0.04 - 0.5)].forEach((expected, i) => {
      expect(margin[i]).toBeCloseTo(expected, 5);
    });
  });

  it('sums the entropy over the whole vocabulary', async () => {
    const expected = -p.reduce((sum, value) => sum + value * Math.log(value), 0);
    expect((await of([0]))('entropy')[0]).toBeCloseTo(expected, 5);
  });

  it('lists the five most probable tokens', async () => {
    expect((await of([5]))('top_ids')).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('probabilities of rounded logits', () => {
  const logits = [3, 1, 0, -1, -2, 40];
  const rows = [logits, logits.map((x) => x * 1e3)].flat();
  const of = async (doubts: readonly number[]) => {
    const build = (g: Graph, [z]: Value[], targets: Value) => ({
      p: probabilitiesOf(g, { rounded: new Map() }, { logits: z!, targets }),
    });
    return (await run(build, [rows], [5, 5], doubts))('p');
  };

  it('give the token that is there what is known of it, and share the rest as they are', async () => {
    const p = await of([0.25, 0]);
    expect(p[5]).toBeCloseTo(0.75, 6);
    const rest = logits.slice(0, 5).map(Math.exp);
    const sum = rest.reduce((a, b) => a + b);
    expect(p.slice(0, 5)).toEqual(rest.map((share) => expect.closeTo((0.25 * share) / sum, 6)));
  });

  it('are finite where all others are too improbable for a number', async () => {
    expect((await of([0.25, 0.1])).slice(6)).toEqual([0, 0, 0, 0, 0, expect.closeTo(0.9)]);
  });

  it('surface a number that is none', async () => {
    expect((await of([Number.NaN, 0])).slice(0, 6).every(Number.isNaN)).toBe(true);
  });
});
