import { beforeAll, describe, expect, it } from 'vitest';
import { decodeElements, roundToBfloat16 } from '#src/checkpoint/elements.js';
import type { StoredTensor } from '#src/checkpoint/safetensors.js';
import { openHalfWeights } from '#src/engine/half-weights.js';
import { floats, openSession, type Session } from '#src/engine/ort-session.js';
import { HalfProducts } from '#src/graphs/half-products.js';
import { Products } from '#src/graphs/products.js';
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

function graphOf(weight: StoredTensor, native: boolean): Graph {
  const [out, inner] = weight.shape as [number, number];
  const g = new Graph();
  const x = g.input('x', 'float32', ['rows', inner]);
  const y = new HalfProducts(g, new Products(g), native).multiply(
    x,
    weight,
    g.input('bias', 'float32', [out]),
  );
  g.output('y', y);
  const [gradient] = gradients(g, [{ value: y, seed: g.input('dy', 'float32', ['rows', out]) }], [x]);
  g.output('gradient', gradient!);
  const seeds = [{ value: x, tangent: g.input('dx', 'float32', ['rows', inner]) }];
  g.output('tangent', tangents(g, seeds, [y])[0]!);
  return g;
}

const halves = (values: Float32Array): Float32Array => decodeElements('bf16', roundToBfloat16(values));

describe('products in bf16', () => {
  let weight: StoredTensor;
  let values: Float32Array;
  let session: Session;
  let [out, inner] = [0, 0];

  beforeAll(async () => {
    const checkpoint = await openCheckpoint(checkpointFolder('tiny-mistral'));
    weight = (await openHalfWeights(checkpoint, folder.path('halves'))).get(NAME)!;
    values = await valuesOf(weight);
    [out, inner] = weight.shape as [number, number];
    session = await openSession(graphOf(weight, false), { threads: 1 });
  });

  const given = () => ({
    x: randoms(1, ROWS * inner, -1, 1),
    dy: randoms(2, ROWS * out, -1e-9, 1e-9),
    dx: randoms(3, ROWS * inner, -1e9, 1e9),
  });
  const run = async ({ x, dy, dx }: ReturnType<typeof given>) => {
    const results = await session.run({
      x: floats(x, [ROWS, inner]),
      dy: floats(dy, [ROWS, out]),
      dx: floats(dx, [ROWS, inner]),
      bias: floats(new Float32Array(out), [out]),
    });
    return (name: 'y' | 'gradient' | 'tangent') => results[name]!.data as Float32Array;
  };

  it.each(['y', 'tangent', 'gradient'] as const)(
    'are of numbers rounded to bf16, and rounded so: %s',
    async (name) => {
      const all = given();
      const found = (await run(all))(name);
      const back = name === 'gradient';
      const [rows, size, columns] = back
        ? [halves(all.dy), out, inner]
        : [halves(name === 'y' ? all.x : all.dx), inner, out];
      for (const [i, value] of found.entries()) {
        const [row, column] = [Math.floor(i / columns), i % columns];
        let [sum, sizes] = [0, 0];
        for (let k = 0; k < size; k += 1) {
          const term = rows[row * size + k]! * values[back ? k * inner + column : column * inner + k]!;
          sum += term;
          sizes += Math.abs(term);
        }
        expect(halves(Float32Array.of(value))[0]).toBe(value);
        // Half of the last of 8 bits, and the order of a sum in fp32.
        expect(Math.abs(value - sum)).toBeLessThanOrEqual(Math.abs(sum) / 256 + 1e-6 * sizes);
      }
    },
  );

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('do not hide %s', async (value) => {
    const { x, dy, dx } = given();
    const found = await run({ x: x.with(3, value), dy: dy.with(3, value), dx: dx.with(3, value) });
    for (const name of ['y', 'tangent', 'gradient'] as const) {
      const size = found(name).length / ROWS;
      expect(found(name).subarray(0, size).some(Number.isFinite)).toBe(false);
      expect(found(name).subarray(size).every(Number.isFinite)).toBe(true);
    }
  });

  it('read one copy of the weights on CUDA, in bf16 as it is stored', () => {
    const { nodes, initializers } = graphOf(weight, true);
    const products = nodes.filter(({ op }) => op === 'Gemm' || op === 'MatMul');
    expect(products.map(({ inputs }) => inputs.map((input) => input!.type))).toEqual(
      Array(3).fill(['bfloat16', 'bfloat16']),
    );
    expect(new Set(products.map(({ inputs }) => inputs[1]!.name))).toEqual(new Set([weight.name]));
    expect(initializers.filter((one) => 'external' in one)).toHaveLength(1);
    expect(nodes.filter(({ op }) => op === 'Cast')).toHaveLength(6);
  });
});
