import { bytesPerSecond, openReaders } from '#src/cost/bandwidth.js';
import { weightMatrices } from '#src/cost/products.js';
import { interleaveTimed, type Sample, timed } from '#src/cost/timing.js';
import type { Engine } from '#src/engine/engine.js';
import type { ModelSource } from '#src/graphs/decoder.js';
import { endlessRequest } from './streams.js';

export interface DecodeSpeed {
  readonly tokens: number;
  readonly sample: Sample;
  readonly tokensPerSecond: number;
  /** Bytes of weights, as stored, that each token needs. */
  readonly bytesPerToken: number;
  /** Bytes of weights per second. */
  readonly bytesPerSecond: number;
  /** Speed of reading alone with as many threads, in the same rounds, bytes per second. */
  readonly readers: Readonly<Record<string, number>>;
  /** Share of the best reader. */
  readonly share: number;
}

/**
 * Decode speed from the first token to the last, and how much of the memory bandwidth it makes use of.
 * @param reference weights of the same shapes, stored as fp32
 */
export async function measureDecode(
  engine: Engine,
  reference: ModelSource,
  options: { readonly threads: number; readonly rounds: number; readonly tokens: number },
  onRound: () => void,
): Promise<DecodeSpeed> {
  const { threads, rounds, tokens } = options;
  const { config, tensors } = engine.checkpoint;
  const bytesPerToken = weightMatrices(config).reduce(
    (sum, { name }) => sum + (tensors.get(name)?.byteLength ?? 0),
    0,
  );
  const readers = await openReaders(reference, { threads });
  const { decode, ...reading } = await interleaveTimed(
    rounds,
    {
      decode: () => timeDecode(engine, tokens),
      sum: timed(readers.sum.run),
      mapped: timed(readers.mapped.run),
      products: timed(readers.products.run),
    },
    onRound,
  );
  const speeds = {
    sum: bytesPerSecond(readers.sum.bytes, reading.sum.best),
    mapped: bytesPerSecond(readers.mapped.bytes, reading.mapped.best),
    products: bytesPerSecond(readers.products.bytes, reading.products.best),
  };
  const decoded = bytesPerSecond((tokens - 1) * bytesPerToken, decode.best);
  return {
    tokens,
    sample: decode,
    tokensPerSecond: (1000 * (tokens - 1)) / decode.best,
    bytesPerToken,
    bytesPerSecond: decoded,
    readers: speeds,
    share: decoded / Math.max(...Object.values(speeds)),
  };
}

/** Milliseconds from the first token, when the prompt is done with, to the last. */
async function timeDecode(engine: Engine, tokens: number): Promise<number> {
  const generation = await engine.generate(endlessRequest(engine, tokens));
  await generation.next();
  return timed(async () => {
    while ((await generation.next()).type !== 'end');
  })();
}
