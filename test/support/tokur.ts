import { type LayerBasis, TokurBases } from '#src/engine/child/low-rank-basis.js';
import type { SessionOptions } from '#src/engine/ort-session.js';
import type { ModelSource } from '#src/graphs/decoder.js';

/** All bases at once. */
export async function tokurBases(source: ModelSource, options: SessionOptions): Promise<LayerBasis[]> {
  const bases = new TokurBases(source, options);
  for (;;) {
    const { layers } = bases;
    if (layers) return layers;
    await bases.advance();
  }
}
