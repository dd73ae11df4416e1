import { standardNormals } from './noise.js';

/** Rows that are iterated beyond those wanted: errors shrink by λ₃₃ / λ₈ a step for rank 8, not by λ₉ / λ₈. */
const GUARD_ROWS = 24;

/**
 * A vector is found when ‖A v − λ v‖ ≤ 1e-3 λ. What it then still holds of another direction is worth at most
 * 1e-3 / (1 − μ/λ): much only where that direction's eigenvalue μ is as large, and then either will do. Whatever the
 * spectrum, (1 − μ/λ)(μ/λ)ⁿ ≤ 1 / (e n): about 370 steps at most.
 */
const TOLERANCE = 1e-3;
const MAX_STEPS = 500;
/** The products come in fp32: below this part of the largest eigenvalue a residual is rounding. */
const ROUNDING = 1e-6;

/** A Q for symmetric positive semidefinite A, the columns of Q given and returned as rows, `[rows, size]` flat. */
export type Product = (rows: Float32Array, count: number) => Promise<Float32Array>;

/**
 * The eigenvectors of the largest eigenvalues, largest first: block subspace iteration with Rayleigh–Ritz at each
 * step (Golub and Van Loan, Matrix Computations, section 8.2.4) from seeded starts. The largest entry of each vector
 * is positive, so that results can be reproduced. Where eigenvalues are close, the vectors are any of the plane that
 * they span, and where the last one wanted is close to the next, so is the subspace.
 *
 * @param size of A
 * @param rank how many are wanted, at most `size`
 * @throws Error if products are not finite
 */
export async function leadingEigenvectors(product: Product, size: number, rank: number) {
  const start = (row: number) => standardNormals({ seed: 0, replica: 0, position: row }, size);
  let q = orthonormal(Array.from({ length: Math.min(size, rank + GUARD_ROWS) }, (_, row) => start(row)));
  for (let step = 0; step < MAX_STEPS; step++) {
    const flat = new Float32Array(q.length * size);
    q.forEach((row, i) => {
      flat.set(row, i * size);
    });
    const result = await product(flat, q.length);
    const z = q.map((_, i) => Float64Array.from(result.subarray(i * size, (i + 1) * size)));

    const pairs = symmetricEigen(q.map((row) => Float64Array.from(z, (image) => dot(row, image))));
    const ritz = pairs.map(({ vector }) => combine(vector, q));
    const images = pairs.map(({ vector }) => combine(vector, z));
    const values = pairs.map(({ value }) => value);
    if (!values.every(Number.isFinite)) throw new Error('subspace iteration: a product is not finite');
    const rounding = ROUNDING * values[0]!;
    const found = (i: number) => {
      const residual = Math.sqrt(
        images[i]!.reduce((sum, x, k) => sum + (x - values[i]! * ritz[i]![k]!) ** 2, 0),
      );
      return residual <= Math.max(TOLERANCE * values[i]!, rounding);
    };
    if (ritz.slice(0, rank).every((_, i) => found(i))) {
      return { vectors: ritz.slice(0, rank).map(withSign), values: values.slice(0, rank) };
    }
    q = orthonormal(images);
  }
  throw new Error(`subspace iteration: not converged after ${MAX_STEPS} steps`);
}

/** Modified Gram–Schmidt, each row twice ("twice is enough": Giraud and others, 2005). */
function orthonormal(rows: readonly ArrayLike<number>[]): Float64Array[] {
  const done: Float64Array[] = [];
  const project = (row: Float64Array) => {
    for (const other of done) add(row, -dot(row, other), other);
    return row;
  };
  rows.forEach((given, i) => {
    let row: Float64Array = Float64Array.from(given);
    const length = norm(row);
    project(row);
    // A matrix of low rank leaves nothing but rounding: any direction does for a singular value of zero.
    if (norm(row) <= 1e-12 * length) {
      row = project(Float64Array.from(standardNormals({ seed: 0, replica: 1, position: i }, row.length)));
    }
    project(row);
    const scale = 1 / norm(row);
    done.push(row.map((x) => x * scale));
  });
  return done;
}

function withSign(vector: Float64Array): Float64Array {
  const largest = vector.reduce((best, x) => (Math.abs(x) > Math.abs(best) ? x : best), 0);
  return largest < 0 ? vector.map((x) => -x) : vector;
}

function combine(weights: Float64Array, rows: readonly Float64Array[]): Float64Array {
  const sum = new Float64Array(rows[0]!.length);
  rows.forEach((row, i) => {
    add(sum, weights[i]!, row);
  });
  return sum;
}

/** to += scale · from */
function add(to: Float64Array, scale: number, from: Float64Array): void {
  for (let i = 0; i < to.length; i++) to[i] = to[i]! + scale * from[i]!;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

const norm = (a: Float64Array): number => Math.sqrt(dot(a, a));

interface Eigenpair {
  readonly value: number;
  readonly vector: Float64Array;
}

/** Enough by far: convergence is quadratic, and 32 rows take about 6 sweeps. */
const MAX_SWEEPS = 30;

/**
 * All eigenvalues of a small symmetric matrix, largest first, with orthonormal eigenvectors: Jacobi's cyclic method
 * (Golub and Van Loan, Matrix Computations, section 8.5).
 * @param matrix rows; `matrix[i][j]` with j < i is not read
 */
function symmetricEigen(matrix: readonly Float64Array[]): Eigenpair[] {
  const size = matrix.length;
  const a = matrix.map((_, i) =>
    Float64Array.from(matrix, (_, j) => matrix[Math.min(i, j)]![Math.max(i, j)]!),
  );
  const vectors = matrix.map((_, i) => new Float64Array(size).fill(1, i, i + 1));
  for (let sweep = 0; sweep < MAX_SWEEPS && !isDiagonal(a); sweep++) {
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        const coupling = a[p]![q]!;
        if (coupling === 0) continue;
        const theta = (a[q]![q]! - a[p]![p]!) / (2 * coupling);
        const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const cosine = 1 / Math.hypot(tangent, 1);
        const sine = tangent * cosine;
        for (const row of a) rotate(row, p, row, q, cosine, sine);
        for (let k = 0; k < size; k++) rotate(a[p]!, k, a[q]!, k, cosine, sine);
        for (let k = 0; k < size; k++) rotate(vectors[p]!, k, vectors[q]!, k, cosine, sine);
      }
    }
  }
  return vectors
    .map((vector, i) => ({ value: a[i]![i]!, vector }))
    .sort((left, right) => right.value - left.value);
}

/** (x, y) → (c x − s y, s x + c y) for x = `a[i]`, y = `b[j]`. */
function rotate(a: Float64Array, i: number, b: Float64Array, j: number, c: number, s: number): void {
  const [x, y] = [a[i]!, b[j]!];
  a[i] = c * x - s * y;
  b[j] = s * x + c * y;
}

function isDiagonal(a: readonly Float64Array[]): boolean {
  let diagonal = 0;
  let rest = 0;
  a.forEach((row, i) => {
    row.forEach((value, j) => {
      if (i === j) diagonal += value * value;
      else rest += value * value;
    });
  });
  return rest <= 1e-28 * diagonal;
}
