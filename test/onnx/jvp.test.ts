import { describe, expect, it } from 'vitest';
import { floats, openSession } from '#src/engine/ort-session.js';
import { logSoftmax, pick } from '#src/onnx/functions.js';
import { Graph } from '#src/onnx/graph.js';
import { FORWARD_DIFFERENTIABLE, tangents } from '#src/onnx/jvp.js';
import type { Value } from '#src/onnx/types.js';
import { DIFFERENTIABLE, detach, gradients } from '#src/onnx/vjp.js';
import { asResult, CASES, openCase, randoms, STEP, tolerance } from '../support/derivatives.js';

describe('Jacobian-vector products agree with finite differences', () => {
  it.each(CASES)('$op: $name', async (testCase) => {
    const { shapes, build, wrt = shapes.map((_, i) => i) } = testCase;
    const { data, declare, feeds, run } = await openCase(testCase);
    const directions = data.map((values, i) => randoms(50 + i, values.length, -1, 1));

    // All inputs move together, and each one alone.
    const scenes = [wrt, ...(wrt.length > 1 ? wrt.map((i) => [i]) : [])];
    for (const moving of scenes) {
      const g = new Graph();
      const inputs = declare(g);
      const output = build(g, inputs);
      const seeds = moving.map((i) => {
        const value = inputs[i]!;
        return { value, tangent: g.input(`v${i}`, 'float32', value.shape) };
      });
      const [tangent] = tangents(g, seeds, [output]);
      g.output('dy', asResult(g, tangent!));
      const session = await openSession(g, { threads: 1 });
      const along = Object.fromEntries(moving.map((i) => [`v${i}`, floats(directions[i]!, shapes[i]!)]));
      const { dy } = await session.run({ ...feeds(data), ...along });

      const moved = (by: number) =>
        run(
          data.map((values, i) =>
            moving.includes(i) ? values.map((value, k) => value + by * directions[i]![k]!) : values,
          ),
        );
      const [ahead, behind] = [await moved(STEP), await moved(-STEP)];
      expect(dy?.dims).toEqual(ahead.dims);
      for (const [k, value] of ahead.data.entries()) {
        const expected = (value - behind.data[k]!) / (2 * STEP);
        expect(Math.abs(Number(dy?.data[k]) - expected)).toBeLessThan(tolerance(expected));
      }
    }
  });

  it('cover every operator that has a gradient', () => {
    expect(DIFFERENTIABLE.filter((op) => !FORWARD_DIFFERENTIABLE.includes(op))).toEqual([]);
  });
});

describe('tangents and gradients', () => {
  /** One decoder layer of two heads after four past keys → log-probability of one token in each row. */
  function layer(g: Graph, x: Value): Value {
    const weight = (seed: number, rows: number, columns: number): Value =>
      g.floats([...randoms(seed, rows * columns, -1, 1)], [rows, columns]);
    const linear = (input: Value, w: Value): Value => g.op('Gemm', [input, w], { transB: 1 });
    const heads = (input: Value): Value => g.transpose(g.reshape(input, [1, 'rows', 2, 4]), [0, 2, 1, 3]);
    const angles = Array.from({ length: 6 }, (_, i) => 0.7 * i);
    const rotate = (input: Value): Value => {
      const [cos, sin] = [Math.cos, Math.sin].map((f) => g.floats(angles.map(f), [1, 3, 2]));
      return g.op('RotaryEmbedding', [input, cos!, sin!]);
    };
    const past = (seed: number): Value => g.floats([...randoms(seed, 32, -1, 1)], [1, 2, 4, 4]);

    const norm = g.floats([...randoms(1, 8, 0.5, 1.5)], [8]);
    const normed = g.op('RMSNormalization', [x, norm], { axis: -1, epsilon: 1e-5 });
    const [q, k, v] = g.split(linear(normed, weight(2, 24, 8)), 1, [8, 8, 8]).map(heads);
    const keys = g.op('Concat', [past(3), rotate(k!)], { axis: 2 });
    const values = g.op('Concat', [past(4), v!], { axis: 2 });
    const scores = g.op('MatMul', [rotate(q!), g.transpose(keys, [0, 1, 3, 2])]);
    const mixed = g.op('MatMul', [g.op('Softmax', [scores], { axis: -1 }), values]);
    const merged = g.reshape(g.transpose(mixed, [0, 2, 1, 3]), ['rows', 8]);
    const hidden = g.op('Add', [x, linear(merged, weight(5, 8, 8))]);
    return pick(g, logSoftmax(g, linear(hidden, weight(6, 11, 8))), g.ints([3, 0, 10]));
  }

  it('are dual: ⟨u, J v⟩ = ⟨Jᵀ u, v⟩', async () => {
    const g = new Graph();
    const [x, v] = ['x', 'v'].map((name) => g.input(name, 'float32', ['rows', 8]));
    const y = layer(g, x!);
    const u = g.input('u', 'float32', y.shape);
    const [gradient] = gradients(g, [{ value: y, seed: u }], [x!]);
    const [tangent] = tangents(g, [{ value: x!, tangent: v! }], [y]);
    g.output('gradient', gradient!);
    g.output('tangent', tangent!);

    const session = await openSession(g, { threads: 1 });
    const direction = randoms(21, 24, -1, 1);
    const weights = randoms(22, 3, -1, 1);
    const result = await session.run({
      x: floats(randoms(20, 24, -1, 1), [3, 8]),
      v: floats(direction, [3, 8]),
      u: floats(weights, [3]),
    });
    const dot = (name: string, other: Float32Array): number =>
      other.reduce((sum, value, i) => sum + value * Number(result[name]!.data[i]), 0);
    const forward = dot('tangent', weights);
    expect(Math.abs(forward)).toBeGreaterThan(0.1);
    expect(dot('gradient', direction)).toBeCloseTo(forward, 5);
  });
});

describe('tangents', () => {
  const scene = () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [2]);
    return { g, x, tangent: g.floats([1, 10], [2]) };
  };
  const evaluate = async (g: Graph, x: readonly number[]) => {
    const session = await openSession(g, { threads: 1 });
    return Array.from((await session.run({ x: floats(Float32Array.from(x), [2]) })).dy!.data, Number);
  };

  it('do not go through a detached value', async () => {
    const { g, x, tangent } = scene();
    const [dy] = tangents(g, [{ value: x, tangent }], [g.op('Mul', [x, detach(x)])]);
    g.output('dy', dy!);
    expect(await evaluate(g, [3, 5])).toEqual([3, 50]);
  });

  it('of a seeded value that depends on another seed add up', async () => {
    const { g, x, tangent } = scene();
    const triple = g.op('Mul', [x, g.scalar(3)]);
    const seeds = [x, triple].map((value) => ({ value, tangent }));
    const [dy] = tangents(g, seeds, [g.op('Mul', [triple, g.scalar(2)])]);
    g.output('dy', dy!);
    expect(await evaluate(g, [3, 5])).toEqual([8, 80]);
  });

  it('cost one product where one factor is constant, and nothing off the path', () => {
    const { g, x, tangent } = scene();
    const inner = g.op('Exp', [x]);
    g.reduce('ReduceMax', inner, [0]); // has no rule, and needs none
    const constant = g.op('Exp', [g.floats([1, 2], [2])]);
    const output = g.op('Mul', [inner, constant]);
    const before = g.nodes.length;
    tangents(g, [{ value: x, tangent }], [output]);
    expect(g.nodes.slice(before).map(({ op }) => op)).toEqual(['Mul', 'Mul']);
  });

  it('read a weight that is stored rounded again, after a tangent', () => {
    const { g, x, tangent } = scene();
    const row = g.reshape(x, [1, 2]);
    const tensor = {
      name: 'w',
      type: 'bfloat16',
      shape: [4, 2],
      file: '/w',
      offset: 0,
      byteLength: 16,
    } as const;
    const output = g.op('Gemm', [row, g.weight(tensor, row)], { transB: 1 });
    const before = g.nodes.length;
    tangents(g, [{ value: x, tangent }], [output]);
    const added = g.nodes.slice(before);
    const products = added.filter(({ op }) => op === 'Gemm');
    expect(products).toHaveLength(1);
    expect(added.flatMap(({ outputs }) => outputs)).toContain(products[0]!.inputs[1]);
  });

  it('refuse an operator without a rule, an output off the path, and a tangent of another shape', () => {
    const { g, x, tangent } = scene();
    const seeds = [{ value: x, tangent }];
    expect(() => tangents(g, seeds, [g.reduce('ReduceMax', x, [0])])).toThrow(
      'ReduceMax: has no forward differentiation rule',
    );
    const other = g.op('Exp', [g.input('other', 'float32', [2])]);
    expect(() => tangents(g, seeds, [other])).toThrow('no path from a seed to Exp');
    expect(() => tangents(g, [{ value: x, tangent: g.scalar(1) }], [g.op('Exp', [x])])).toThrow(
      'tangent: [] for a value of shape [2]',
    );
    const z = g.input('z', 'float32', [1, 1, 1, 4]);
    const rotation = g.op('RotaryEmbedding', [z, x, x]);
    const both = [...seeds, { value: z, tangent: z }];
    expect(() => tangents(g, both, [rotation])).toThrow('RotaryEmbedding: only its first input may vary');
  });
});
