import { describe, expect, it } from 'vitest';
import { type Projection, type TokurSettings, weightNoise } from '#src/numerics/tokur-noise.js';

const DEFAULT_TOKUR: TokurSettings = { samples: 2, sigma: 1e-3, seed: 0 };
const moment = (x: Float32Array, k: number) => x.reduce((sum, value) => sum + value ** k, 0) / x.length;

describe('noise of projections', () => {
  const q: Projection = { layer: 0, name: 'q' };
  const v: Projection = { layer: 0, name: 'v' };
  const settings: TokurSettings = { ...DEFAULT_TOKUR, samples: 3, sigma: 0.1 };
  const weights = (of: Projection, changes: Partial<TokurSettings> = {}) =>
    weightNoise({ ...settings, ...changes }, of, { hidden: 500, rank: 8 });

  it('leaves the first sample as it is, and has σ in the others', () => {
    const noise = weights(q);
    expect(noise).toHaveLength(3 * 4000);
    expect(noise.subarray(0, 4000).every((x) => x === 0)).toBe(true);
    expect(moment(noise.subarray(4000), 2)).toBeCloseTo(0.01, 3);
  });

  it('differs between samples, layers, projections and seeds', () => {
    const draws = [weights(q), weights(v), weights({ layer: 1, name: 'q' }), weights(q, { seed: 1 })].flatMap(
      (noise) => [noise.subarray(4000, 8000), noise.subarray(8000)],
    );
    draws.forEach((a, i) => {
      for (const b of draws.slice(i + 1)) {
        expect(
          Math.abs(
            moment(
              a.map((x, k) => x * b[k]!),
              1,
            ) / 0.01,
          ),
        ).toBeLessThan(5 / Math.sqrt(4000));
      }
    });
  });
});
