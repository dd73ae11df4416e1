import { describe, expect, it } from 'vitest';
import { type Feeds, floats, openSession } from '#src/engine/ort-session.js';
import { projectionNoise } from '#src/graphs/projection-noise.js';
import { standardNormals } from '#src/numerics/noise.js';
import { Graph } from '#src/onnx/graph.js';

const [BATCH, WINDOW, HIDDEN, RANK] = [3, 4, 10, 2];
const OUT = { q: 6, v: 5 };
const ROWS = BATCH * WINDOW;

let drawn = 0;
const random = (length: number) => standardNormals({ seed: 1, replica: 0, position: drawn++ }, length);
const at = (data: Float32Array, width: number, i: number, j: number) => data[i * width + j]!;
const range = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Layer 1 of two, so that the wrong layer's directions would be noticed. */
async function perturb(name: 'q' | 'v', noise: Float32Array) {
  const directions = range(2).map(() => ({
    q: { vectors: random(RANK * OUT.q) },
    v: { vectors: random(RANK * OUT.v) },
  }));
  const [input, output] = [random(ROWS * HIDDEN), random(ROWS * OUT[name])];
  const g = new Graph();
  const x = g.input('x', 'float32', ['rows', HIDDEN]);
  const y = g.input('y', 'float32', ['rows', OUT[name]]);
  g.output('perturbed', projectionNoise(g, directions, BATCH)(y, x, 1, name));
  const session = await openSession(g, { threads: 1 });
  const feeds: Feeds = {
    x: floats(input, [ROWS, HIDDEN]),
    y: floats(output, [ROWS, OUT[name]]),
    [`noise.1.${name}`]: floats(noise, [BATCH, HIDDEN, RANK]),
  };
  const { perturbed } = await session.run(feeds);
  return { input, output, basis: directions[1]![name].vectors, perturbed: perturbed!.data as Float32Array };
}

/** W x + B z for z `(row, direction)`. */
function expectNoise(
  { output, basis, perturbed }: Awaited<ReturnType<typeof perturb>>,
  out: number,
  z: (row: number, k: number) => number,
): void {
  for (const row of range(ROWS)) {
    for (const j of range(out)) {
      const noise = range(RANK).reduce((sum, k) => sum + z(row, k) * at(basis, out, k, j), 0);
      expect(at(perturbed, out, row, j)).toBeCloseTo(at(output, out, row, j) + noise, 4);
    }
  }
}

describe.each(['q', 'v'] as const)('projectionNoise on %s', (name) => {
  it('adds B Eᵀ x, with one E for all positions of a text', async () => {
    const noise = random(BATCH * HIDDEN * RANK);
    const result = await perturb(name, noise);
    expectNoise(result, OUT[name], (row, k) => {
      const text = Math.floor(row / WINDOW);
      return range(HIDDEN).reduce(
        (sum, i) => sum + at(noise, RANK, text * HIDDEN + i, k) * at(result.input, HIDDEN, row, i),
        0,
      );
    });
  });

  it('changes nothing where the noise is zero', async () => {
    const { output, perturbed } = await perturb(name, new Float32Array(BATCH * HIDDEN * RANK));
    expect(perturbed).toEqual(output);
  });
});
