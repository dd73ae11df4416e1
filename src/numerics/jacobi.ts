export interface Eigenpair {
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
export function symmetricEigen(matrix: readonly Float64Array[]): Eigenpair[] {
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
