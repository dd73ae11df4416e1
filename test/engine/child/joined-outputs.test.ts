import { describe, expect, it } from 'vitest';
import { buildGraph, type PlainSpec } from '#src/engine/child/graph-sessions.js';
import { joinOutputs, separateOutputs } from '#src/engine/child/joined-outputs.js';
import { floats, openSession } from '#src/engine/ort-session.js';
import { openCheckpoint } from '#src/index.js';
import { Graph } from '#src/onnx/graph.js';
import { REASONER } from '../../support/golden.js';

const source = await openCheckpoint(REASONER);

/** Two outputs of sizes that the input tells, one of integers, and one of a size that it does not tell. */
function example(): Graph {
  const g = new Graph();
  const x = g.input('x', 'float32', ['rows', 4]);
  g.output('twice', g.op('Mul', [x, g.scalar(2)]));
  g.output('sums', g.reduce('ReduceSum', x, [1], { keepDims: false }));
  g.output('integers', g.cast(x, 'int64'));
  g.output('flat', g.reshape(x, ['all']));
  return g;
}

describe('joined outputs', () => {
  it('are separated to what they were', async () => {
    const g = example();
    const parts = joinOutputs(g);
    expect(g.outputs.map(({ name }) => name)).toEqual(['integers', 'flat', 'joined']);
    const session = separateOutputs(await openSession(g, { threads: 1 }), g.inputs, parts);
    const plain = await openSession(example(), { threads: 1 });
    expect(new Set(session.outputNames)).toEqual(new Set(plain.outputNames));
    const feeds = { x: floats(Float32Array.of(1, 2, 3, Number.NaN, 5, 6, 7, 8), [2, 4]) };
    const all = { twice: null, sums: null, integers: null, flat: null };
    const expected = await plain.run(feeds, all);
    const got = await session.run(feeds, all);
    for (const name of session.outputNames) {
      expect(got[name]!.dims, name).toEqual(expected[name]!.dims);
      expect(got[name]!.data, name).toEqual(expected[name]!.data);
    }
    expect(Object.keys(await session.run(feeds, { sums: null }))).toEqual(['sums']);
    expect(Object.keys(await session.run(feeds, { flat: null }))).toEqual(['flat']);
  });

  it.each([
    ['a written token', { kind: 'forward', sequences: 1, result: 'logprobs' }, 13, 1],
    ['a pass of Adv. Pert.', { kind: 'score', sequences: 1, form: 'perturb' }, 21, 3],
  ] as const)('of %s of the embedded model', (_, spec, before, after) => {
    const g = buildGraph(source, spec as PlainSpec);
    expect(g.outputs).toHaveLength(before);
    joinOutputs(g);
    expect(g.outputs).toHaveLength(after);
  });
});
