import { describe, expect, it } from 'vitest';
import { floats, openSession } from '#src/engine/ort-session.js';
import { Graph } from '#src/onnx/graph.js';
import { OPERATORS } from '#src/onnx/operators.js';
import { DIFFERENTIABLE, gradients } from '#src/onnx/vjp.js';
import { asResult, CASES, openCase, randoms, STEP, tolerance } from '../support/derivatives.js';

describe('vector-Jacobian products agree with finite differences', () => {
  it.each(CASES)('$op: $name', async (testCase) => {
    const { build, wrt = testCase.shapes.map((_, i) => i) } = testCase;
    const { shapes, data, declare, feeds, run } = await openCase(testCase);
    const y = await run(data);
    const weights = randoms(99, y.data.length, -1, 1);
    const loss = async (values: readonly Float32Array[]) =>
      (await run(values)).data.reduce((sum, value, i) => sum + value * weights[i]!, 0);

    const backward = new Graph();
    const inputs = declare(backward);
    const output = build(backward, inputs);
    const seed = backward.input('seed', 'float32', output.shape);
    const wanted = wrt.map((i) => inputs[i]!);
    gradients(backward, [{ value: output, seed }], wanted).forEach((gradient, k) => {
      backward.output(`dx${wrt[k]}`, asResult(backward, gradient));
    });
    const session = await openSession(backward, { threads: 1 });
    const result = await session.run({ ...feeds(data), seed: floats(weights, y.dims) });

    for (const i of wrt) {
      const actual = result[`dx${i}`];
      expect(actual?.dims).toEqual(shapes[i]);
      for (let k = 0; k < data[i]!.length; k++) {
        const moved = (by: number) =>
          data.map((value, j) => (j === i ? value.with(k, value[k]! + by) : value));
        const expected = ((await loss(moved(STEP))) - (await loss(moved(-STEP)))) / (2 * STEP);
        expect(Math.abs(Number(actual?.data[k]) - expected)).toBeLessThan(tolerance(expected));
      }
    }
  });

  it('covers every rule', () => {
    const tested = new Set(CASES.map(({ op }) => op));
    expect(DIFFERENTIABLE.filter((op) => !tested.has(op))).toEqual([]);
    expect(DIFFERENTIABLE.filter((op) => !(op in OPERATORS))).toEqual([]);
  });
});
