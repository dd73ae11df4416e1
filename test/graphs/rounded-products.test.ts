import { beforeAll, describe, expect, it } from 'vitest';
import type { PackedTensor } from '#src/checkpoint/packed.js';
import type { StoredTensor } from '#src/checkpoint/safetensors.js';
import { floats, openSession, type Session } from '#src/engine/ort-session.js';
import { openRoundedWeights } from '#src/engine/rounded-weights.js';
import { RoundedProducts } from '#src/graphs/rounded-products.js';
import { openCheckpoint } from '#src/index.js';
import { Graph } from '#src/onnx/graph.js';
import { tangents } from '#src/onnx/jvp.js';
import { gradients } from '#src/onnx/vjp.js';
import { useFolder } from '../support/cli.js';
import { randoms } from '../support/derivatives.js';
import { checkpointFolder } from '../support/golden.js';
import { valuesOf } from '../support/weights.js';

const folder = useFolder();
const NAME = 'model.layers.0.mlp.down_proj.weight';
const ROWS = 5;
/** x, dy and dx. */
type Given = [Float32Array, Float32Array, Float32Array];

describe('products of rounded weights', () => {
  let [values, session]: [Float32Array, Session | undefined] = [new Float32Array(), undefined];
  let [out, inner] = [0, 0];

  beforeAll(async () => {
    const checkpoint = await openCheckpoint(checkpointFolder('tiny-llama'));
    const stored = checkpoint.tensors.get(NAME) as StoredTensor;
    values = await valuesOf(stored);
    const weight = (await openRoundedWeights(checkpoint, folder.path('rounded'))).get(NAME) as PackedTensor;
    [out, inner] = weight.shape;
    const g = new Graph();
    const x = g.input('x', 'float32', ['rows', inner]);
    const bias = g.input('bias', 'float32', [out]);
    const y = new RoundedProducts(g).multiply(x, weight, bias);
    g.output('y', y);
    const [gradient] = gradients(g, [{ value: y, seed: g.input('dy', 'float32', ['rows', out]) }], [x]);
    g.output('gradient', gradient!);
    const seeds = [{ value: x, tangent: g.input('dx', 'float32', ['rows', inner]) }];
    g.output('tangent', tangents(g, seeds, [y])[0]!);
    session = await openSession(g, { threads: 1 });
  });

  const run = async (x: Float32Array, dy: Float32Array, dx: Float32Array) => {
    const feeds = {
      x: floats(x, [ROWS, inner]),
      dy: floats(dy, [ROWS, out]),
      dx: floats(dx, [ROWS, inner]),
      bias: floats(new Float32Array(out).fill(0.5), [out]),
    };
    const results = await session!.run(feeds);
    return (name: string) => results[name]!.data as Float32Array;
  };
  const given = (): Given => [
    randoms(1, ROWS * inner, -1, 1),
    randoms(2, ROWS * out, -1, 1),
    randoms(3, ROWS * inner, -1, 1),
  ];
  /** Σ over k of a[row, k] w(k, column), `[rows, columns]` */
  const product = (
    a: Float32Array,
    columns: number,
    size: number,
    w: (k: number, column: number) => number,
  ) =>
    Array.from({ length: ROWS * columns }, (_, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      let sum = 0;
      for (let k = 0; k < size; k += 1) sum += a[row * size + k]! * w(k, column);
      return sum;
    });
  const forward = (k: number, column: number): number => values[column * inner + k]!;
  const back = (k: number, column: number): number => values[k * inner + column]!;
  const norm = (a: readonly number[]): number => Math.hypot(...a);
  const error = (found: Float32Array, expected: readonly number[]): number =>
    norm(expected.map((value, i) => value - found[i]!)) / norm(expected);

  it('are those of the weights, but for rounding, and so are gradient and tangent', async () => {
    const [x, dy, dx] = given();
    const found = await run(x, dy, dx);
    const biased = product(x, out, inner, forward).map((value) => value + 0.5);
    expect(error(found('y'), biased)).toBeLessThan(0.02);
    expect(error(found('tangent'), product(dx, out, inner, forward))).toBeLessThan(0.03);
    expect(error(found('gradient'), product(dy, inner, out, back))).toBeLessThan(0.02);
  });

  it('do not depend on the size of a row, nor on the other rows', async () => {
    const [x, dy, dx] = given();
    const [found, scaled] = [await run(x, dy, dx), await run(...([x, dy, dx].map(shrink) as Given))];
    for (const name of ['tangent', 'gradient']) {
      const size = found(name).length / ROWS;
      for (const [i, value] of scaled(name).entries()) {
        const expected = found(name)[i]! * (i < size ? 1e-6 : 1);
        expect(Math.abs(value - expected)).toBeLessThan(1e-4 * (i < size ? 1e-6 : 1));
      }
    }
  });

  it('of a row of zeros are zeros', async () => {
    const none = given().map((all) => new Float32Array(all.length)) as Given;
    const found = await run(...none);
    for (const name of ['tangent', 'gradient']) expect(found(name).every((value) => value === 0)).toBe(true);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('do not hide %s', async (value) => {
    const broken = given().map((all) => all.with(3, value)) as Given;
    const found = await run(...broken);
    for (const name of ['y', 'tangent', 'gradient']) {
      const size = found(name).length / ROWS;
      expect(found(name).subarray(0, size).every(Number.isNaN)).toBe(true);
      expect(found(name).subarray(size).every(Number.isFinite)).toBe(true);
    }
  });
});

/** Makes the first row a million times smaller. */
const shrink = (all: Float32Array): Float32Array =>
  all.map((value, i) => (i < all.length / ROWS ? 1e-6 * value : value));
