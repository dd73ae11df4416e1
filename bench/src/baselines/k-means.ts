import { kmeans } from 'ml-kmeans';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { mean, variance } from 'simple-statistics';

/** Number of starts, and limit of iterations, as in scikit-learn's KMeans: the best start counts. */
const STARTS = 10;
const MAX_ITERATIONS = 300;
/** A centre rests when the square of its move is below this share of the mean variance of a coordinate. */
const TOLERANCE = 1e-4;

/**
 * k-means from several starts; the result with the least sum of squared distances.
 * @param k at most as many as there are different points
 * @returns the cluster of each point
 */
export function cluster(points: readonly (readonly number[])[], k: number, seed: number): number[] {
  const data = points.map((point) => [...point]);
  const spread = mean(data[0]!.map((_, dimension) => variance(data.map((point) => point[dimension]!))));
  const distances = squaredDistances(points);
  const random = mersenne(seed);
  let best: { readonly clusters: number[]; readonly inertia: number } | null = null;
  for (let start = 0; start < STARTS; start += 1) {
    const { clusters, centroids, distance } = kmeans(data, k, {
      initialization: chooseCentres(distances, k, random).map((i) => data[i]!),
      maxIterations: MAX_ITERATIONS,
      tolerance: TOLERANCE * spread,
    });
    const inertia = data.reduce((sum, point, i) => sum + distance(point, centroids[clusters[i]!]!), 0);
    if (!best || inertia < best.inertia) best = { clusters, inertia };
  }
  return best!.clusters;
}

/**
 * Numbers of the points that are centres at first: k-means++ (Arthur and Vassilvitskii, 2007), the best of 2 + ln k
 * candidates each time, as scikit-learn has it. That of ml-kmeans takes every distance anew at every start, seconds for
 * the steps of five long responses.
 */
function chooseCentres(distances: readonly Float64Array[], k: number, random: RandomGenerator): number[] {
  const centres = [uniformInt(random, 0, distances.length - 1)];
  let nearest = distances[centres[0]!]!;
  const trials = 2 + Math.floor(Math.log(k));
  while (centres.length < k) {
    const candidates = Array.from({ length: trials }, () => {
      const index = drawn(nearest, uniformFloat64(random));
      const left = nearest.map((distance, i) => Math.min(distance, distances[index]![i]!));
      return { index, left, sum: left.reduce((a, b) => a + b) };
    });
    const best = candidates.reduce((a, b) => (b.sum < a.sum ? b : a));
    centres.push(best.index);
    nearest = best.left;
  }
  return centres;
}

/** The number of an entry, drawn in proportion to its size. @param share of the sum, 0 to 1 */
function drawn(sizes: Float64Array, share: number): number {
  let left = share * sizes.reduce((a, b) => a + b);
  const index = sizes.findIndex((size) => {
    left -= size;
    return left < 0;
  });
  return index < 0 ? sizes.length - 1 : index;
}

function squaredDistances(points: readonly (readonly number[])[]): Float64Array[] {
  const table = points.map(() => new Float64Array(points.length));
  for (const [i, a] of points.entries()) {
    for (let j = 0; j < i; j += 1) {
      const b = points[j]!;
      let sum = 0;
      for (let d = 0; d < a.length; d += 1) sum += (a[d]! - b[d]!) ** 2;
      table[i]![j] = table[j]![i] = sum;
    }
  }
  return table;
}
