/** Widest rotation: wider ones spread no outlier further that matters, and cost more. */
const MOST = 128;

/** Width of the blocks in which numbers of a row are rotated: the largest power of two that divides it, at most 128. */
export function rotationOf(width: number): number {
  let size = 1;
  while (size < MOST && width % (2 * size) === 0) size *= 2;
  return size;
}

/**
 * A Hadamard matrix over the root of its size, row by row: symmetric and its own inverse.
 * @param size a power of two
 */
export function hadamard(size: number): Float32Array {
  const matrix = new Float32Array(size * size);
  for (let row = 0; row < size; row += 1) matrix[row * size + row] = 1;
  rotate(matrix, size);
  return matrix;
}

/**
 * Multiplies each block of `size` numbers by {@link hadamard}, in place: one that is far larger than the others becomes
 * a share of all (fast Walsh-Hadamard transform).
 */
export function rotate(values: Float32Array, size: number): void {
  const scale = 1 / Math.sqrt(size);
  for (let block = 0; block < values.length; block += size) {
    for (let half = 1; half < size; half *= 2) {
      for (let from = block; from < block + size; from += 2 * half) {
        for (let i = from; i < from + half; i += 1) {
          const [a, b] = [values[i]!, values[i + half]!];
          values[i] = a + b;
          values[i + half] = a - b;
        }
      }
    }
    for (let i = block; i < block + size; i += 1) values[i] = values[i]! * scale;
  }
}
