import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openCheckpoint } from '#src/checkpoint/checkpoint.js';
import { readSafetensors } from '#src/checkpoint/safetensors.js';
import { weightsIn } from '#src/checkpoint/weights.js';
import { leftSingularVectors } from '#src/engine/child/low-rank-basis.js';
import { type ModelSource, weightOf } from '#src/graphs/decoder.js';
import { FIXTURES, fixture, REASONER } from '../../support/graphs.js';
import { tokurBases } from '../../support/tokur.js';
import { valuesOf } from '../../support/weights.js';

type Rows = readonly (readonly number[])[];

const folder = mkdtempSync(join(tmpdir(), 'flinch-basis-'));
afterAll(() => rmSync(folder, { recursive: true }));

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, i) => sum + x * b[i]!, 0);
const rowsOf = (flat: ArrayLike<number>, width: number): number[][] =>
  Array.from({ length: flat.length / width }, (_, i) =>
    Array.from({ length: width }, (_, k) => flat[i * width + k]!),
  );
/** The entry of largest magnitude positive. */
const positive = (x: readonly number[]) => {
  const largest = x.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return x.map((value) => value * Math.sign(largest));
};

/** Exactly orthonormal vectors without Gram–Schmidt: columns of the discrete cosine transform. */
const cosines = (size: number, count: number): Rows =>
  Array.from({ length: count }, (_, k) =>
    Array.from(
      { length: size },
      (_, i) => Math.sqrt((k === 0 ? 1 : 2) / size) * Math.cos((Math.PI * k * (i + 0.5)) / size),
    ),
  );

/** W = U S Vᵀ `[out, in]`. */
const multiply = (u: Rows, singularValues: readonly number[], v: Rows): Rows =>
  Array.from({ length: u[0]!.length }, (_, i) =>
    Array.from({ length: v[0]!.length }, (_, j) =>
      singularValues.reduce((sum, s, k) => sum + s * u[k]![i]! * v[k]![j]!, 0),
    ),
  );

async function store(name: string, weight: Rows) {
  const bytes = Float32Array.from(weight.flat());
  const tensor = {
    dtype: 'F32',
    shape: [weight.length, weight[0]!.length],
    data_offsets: [0, bytes.byteLength],
  };
  const header = new TextEncoder().encode(JSON.stringify({ [name]: tensor }));
  const length = new BigUint64Array([BigInt(header.length)]);
  const dir = mkdtempSync(join(folder, 'w-'));
  writeFileSync(
    join(dir, 'model.safetensors'),
    Buffer.concat([length, header, bytes].map((part) => Buffer.from(part.buffer, 0, part.byteLength))),
  );
  const { config } = await openCheckpoint(fixture('tiny-llama'));
  return weightOf({ config, tensors: weightsIn(await readSafetensors(dir)) }, name);
}

const find = async (weight: Rows) => leftSingularVectors(await store('w', weight), { threads: 1 });

describe('leftSingularVectors', () => {
  const singularValues = Array.from({ length: 40 }, (_, k) => 5 * 0.8 ** k);

  it.each([
    ['square', 64, 64],
    ['wide', 40, 96],
    ['tall', 96, 40],
  ])('finds the factors of a %s matrix', async (_, out, inner) => {
    const u = cosines(out, 40);
    const basis = await find(multiply(u, singularValues, cosines(inner, 40)));
    const vectors = rowsOf(basis.vectors, out);
    expect(vectors).toHaveLength(8);
    vectors.forEach((vector, i) => {
      expect(basis.singularValues[i]! / singularValues[i]! - 1).toBeCloseTo(0, 5);
      // The cosine of the angle: an error of 1e-3 in the vector is one of 5e-7 here.
      expect(Math.abs(dot(vector, u[i]!))).toBeGreaterThan(1 - 1e-6);
      expect(vector).toEqual(positive(vector));
    });
  });

  it('finds the small ones beside one that outshines them', async () => {
    const values = singularValues.with(0, 500);
    const u = cosines(64, 40);
    const basis = await find(multiply(u, values, cosines(64, 40)));
    rowsOf(basis.vectors, 64).forEach((vector, i) => {
      expect(Math.abs(dot(vector, u[i]!))).toBeGreaterThan(0.99);
    });
  });

  it('finds the space of singular values that are equal', async () => {
    const values = [...Array(8).fill(2), ...Array(32).fill(1)];
    const u = cosines(64, 40);
    const basis = await find(multiply(u, values, cosines(64, 40)));
    for (const vector of rowsOf(basis.vectors, 64)) {
      expect(u.slice(0, 8).reduce((sum, x) => sum + dot(vector, x) ** 2, 0)).toBeCloseTo(1, 5);
    }
  });

  it('is orthonormal where the matrix has fewer singular values, or none at all', async () => {
    for (const values of [[3, 2, 1], [0]]) {
      const basis = await find(multiply(cosines(48, 3), values, cosines(64, 3)));
      expectOrthonormal(rowsOf(basis.vectors, 48));
      expect(basis.singularValues.slice(values.length).every((s) => s < 1e-2)).toBe(true);
    }
  });

  it('is orthonormal where one entry is all there is', async () => {
    const weight = Array.from({ length: 48 }, (_, i) =>
      Array.from({ length: 64 }, (_, j) => Number(i === j && i === 3)),
    );
    const basis = await find(weight);
    expectOrthonormal(rowsOf(basis.vectors, 48));
    expect(basis.vectors[3]).toBeCloseTo(1, 6);
  });

  it('has as many vectors as the matrix has rows, if those are few', async () => {
    const basis = await find(multiply(cosines(4, 4), singularValues.slice(0, 4), cosines(64, 4)));
    expect(basis.vectors).toHaveLength(4 * 4);
    basis.singularValues.forEach((s, i) => {
      expect(s).toBeCloseTo(singularValues[i]!, 4);
    });
  });

  it('refuses a weight that is not finite, by name', async () => {
    const weight = Array.from({ length: 16 }, (_, i) => Array(16).fill(i === 3 ? Number.NaN : 1));
    await expect(find(weight)).rejects.toMatchObject({
      message: 'w: no singular vectors',
      cause: { message: expect.stringContaining('not finite') },
    });
  });
});

describe('tokurBases', () => {
  it.each([...FIXTURES.map(fixture), REASONER])('are singular vectors of %s', async (dir) => {
    const source: ModelSource = await openCheckpoint(dir);
    const bases = await tokurBases(source, { threads: 1 });
    expect(bases).toHaveLength(source.config.layers);
    for (const [layer, { q, v }] of bases.entries()) {
      for (const [name, basis] of [
        ['q', q],
        ['v', v],
      ] as const) {
        const weight = await readWeight(source, `model.layers.${layer}.self_attn.${name}_proj.weight`);
        const vectors = rowsOf(basis.vectors, weight.length);
        expectOrthonormal(vectors);
        vectors.forEach((vector, i) => {
          const back = weight[0]!.map((_, j) =>
            weight.reduce((sum, row, k) => sum + row[j]! * vector[k]!, 0),
          );
          const lambda = basis.singularValues[i]! ** 2;
          const residual = weight.map((row, k) => dot(row, back) - lambda * vector[k]!);
          expect(Math.sqrt(dot(residual, residual))).toBeLessThan(1.1e-3 * lambda);
        });
      }
    }
  });
});

function expectOrthonormal(vectors: Rows): void {
  vectors.forEach((a, i) => {
    vectors.forEach((b, j) => {
      expect(dot(a, b)).toBeCloseTo(i === j ? 1 : 0, 5);
    });
  });
}

async function readWeight(source: ModelSource, name: string): Promise<Rows> {
  const weight = weightOf(source, name);
  return rowsOf(await valuesOf(weight), weight.shape[1]!);
}
