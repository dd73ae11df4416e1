import { standardNormals } from './noise.js';

/** How TokUR samples models (docs/design/evaluation.md, section 3). */
export interface TokurSettings {
  /** M: how many models, the unperturbed one among them. */
  readonly samples: number;
  /** σ_q, of the noise. */
  readonly sigma: number;
  /** A 32-bit integer. */
  readonly seed: number;
}

export interface Projection {
  readonly layer: number;
  readonly name: 'q' | 'v';
}

/**
 * E of one weight for every sample, `[samples, hidden, rank]` with entries from N(0, σ²). Sample 0 is zero.
 * It stays the same for a whole text.
 */
export function weightNoise(
  settings: TokurSettings,
  projection: Projection,
  { hidden, rank }: { readonly hidden: number; readonly rank: number },
): Float32Array {
  return perSample(settings, hidden * rank, (replica) =>
    standardNormals({ seed: settings.seed, replica, position: 0, tag: tagOf(projection) }, hidden * rank),
  );
}

function perSample(
  { samples, sigma }: TokurSettings,
  length: number,
  draw: (replica: number) => ArrayLike<number>,
): Float32Array {
  const noise = new Float32Array(samples * length);
  for (let replica = 1; replica < samples; replica++) noise.set(draw(replica), replica * length);
  return noise.map((normal) => sigma * normal);
}

/** Tags from 1 on: the noise of embeddings has no tag. */
const tagOf = ({ layer, name }: Projection): number => 1 + 2 * layer + (name === 'v' ? 1 : 0);
