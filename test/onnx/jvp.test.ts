import { describe, expect, it } from 'vitest';
import { floats, openSession } from '#src/engine/ort-session.js';
import { Graph } from '#src/onnx/graph.js';
import { FORWARD_DIFFERENTIABLE, tangents } from '#src/onnx/jvp.js';
import { DIFFERENTIABLE, detach } from '#src/onnx/vjp.js';
import { asResult, CASES, openCase, randoms, STEP, tolerance } from '../support/derivatives.js';

describe('Jacobian-vector products agree with finite differences', () => {
  it.each(CASES)('$op: $name', async (testCase) => {
    const { build, wrt = testCase.shapes.map((_, i) => i) } = testCase;
    const { shapes, data, declare, feeds, run } = await openCase(testCase);
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
