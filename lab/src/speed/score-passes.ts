import { type Operations, openProducts, type PassSize, passOperations } from '#src/cost/products.js';
import { interleave, type Sample } from '#src/cost/timing.js';
import type { Engine } from '#src/engine/engine.js';
import type { ModelSource } from '#src/graphs/decoder.js';
import { DEFAULT_ADVERSARY, someIds } from './streams.js';

export interface ScorePassSpeed extends PassSize {
  readonly pass: Sample;
  readonly operations: Operations;
  /** Products of the pass, 10⁹ operations per second of its whole time. */
  readonly gigaflops: number;
  /** The same of its products with weights alone, under the options of a score session. */
  readonly products: ProductSpeed;
  /** Speed with weights that onnxruntime packed beforehand: its upper limit. */
  readonly packed: ProductSpeed;
}

interface ProductSpeed {
  readonly sample: Sample;
  readonly gigaflops: number;
  /** Speed of the pass as a share of this speed. */
  readonly share: number;
}

export const PASS_SIZES: readonly PassSize[] = [
  { window: 64, past: 0, scored: 8 },
  { window: 64, past: 2000, scored: 8 },
  { window: 128, past: 0, scored: 8 },
];

/**
 * Score passes as the engine runs them, against bare products of the same shapes with as many threads.
 * @param reference weights of the same shapes, stored as fp32
 */
export async function measureScorePasses(
  engine: Engine,
  reference: ModelSource,
  sizes: readonly PassSize[],
  { threads, rounds }: { readonly threads: number; readonly rounds: number },
  onRound: () => void,
): Promise<ScorePassSpeed[]> {
  const directions = ['clean', 'backward', 'perturbed'] as const;
  const plain = await openProducts(reference, directions, { threads });
  const packed = await openProducts(reference, directions, { threads, packed: true });
  const speeds: ScorePassSpeed[] = [];
  for (const size of sizes) {
    const { window, past, scored } = size;
    const to = past + window + 1;
    const text = await engine.openSequence({ positions: to, window, scored });
    let newIds = someIds(engine, to);
    const pass = async (): Promise<void> => {
      await text.pass({ newIds, start: past, from: to - scored, to, adversary: DEFAULT_ADVERSARY });
      newIds = [];
    };
    try {
      const times = await interleave(
        rounds,
        { pass, products: plain(window, scored), packed: packed(window, scored) },
        onRound,
      );
      const operations = passOperations(engine.checkpoint.config, size);
      const gigaflops = (operations.weights + operations.attention) / times.pass.best / 1e6;
      const of = (sample: Sample): ProductSpeed => {
        const speed = operations.weights / sample.best / 1e6;
        return { sample, gigaflops: speed, share: gigaflops / speed };
      };
      speeds.push({
        ...size,
        pass: times.pass,
        operations,
        gigaflops,
        products: of(times.products),
        packed: of(times.packed),
      });
    } finally {
      text.release();
    }
  }
  return speeds;
}
