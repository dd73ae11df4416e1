import { floats, openSession, type SessionOptions } from '../engine/ort-session.js';
import type { ModelSource } from '../graphs/decoder.js';
import { Graph } from '../onnx/graph.js';
import { fp32Weight, openProducts, weightMatrices } from './products.js';

/** Work that reads so many bytes once. */
export interface Reader {
  readonly bytes: number;
  readonly run: () => Promise<unknown>;
}

export const bytesPerSecond = (bytes: number, milliseconds: number): number => (1000 * bytes) / milliseconds;

/** Far more than caches hold, and no more than a machine has to spare. */
const MAX_BYTES = 512e6;
const COLUMNS = 4096;

/**
 * Three ways to read memory as fast as onnxruntime can with these threads: the best of them is the bandwidth that
 * decoding is measured against.
 *
 * - `sum`: rows of one large array in ordinary memory.
 * - `mapped`: the same of the weights, pages of their file, which cost more to look up.
 * - `products`: one vector times every weight, which is what decoding has to do at least.
 *
 * @param source its weights stored as fp32
 */
export async function openReaders(
  source: ModelSource,
  options: SessionOptions,
): Promise<Record<'sum' | 'mapped' | 'products', Reader>> {
  const matrices = weightMatrices(source.config);
  const bytes = matrices.reduce((sum, { out, inner }) => sum + 4 * out * inner, 0);
  const products = await openProducts(source, ['clean'], options);
  return {
    sum: await openSum(Math.min(bytes, MAX_BYTES), options),
    mapped: { bytes, run: await openMapped(source, options) },
    products: { bytes, run: products(1, 1) },
  };
}

/** Reads so many bytes of one large array in ordinary memory. */
export async function openSum(bytes: number, options: SessionOptions): Promise<Reader> {
  const g = new Graph();
  g.output('sums', g.reduce('ReduceSum', g.input('x', 'float32', ['rows', COLUMNS]), [1]));
  const session = await openSession(g, options);
  const rows = Math.ceil(bytes / (4 * COLUMNS));
  const x = floats(new Float32Array(rows * COLUMNS).fill(0.1), [rows, COLUMNS]);
  return { bytes: 4 * rows * COLUMNS, run: () => session.run({ x }) };
}

async function openMapped({ config, tensors }: ModelSource, options: SessionOptions) {
  const g = new Graph();
  const zero = g.input('zero', 'float32', []);
  for (const { name } of weightMatrices(config)) {
    const sums = g.reduce('ReduceSum', g.external(fp32Weight(tensors, name)), [1]);
    g.output(`sums.${name}`, g.op('Add', [sums, zero])); // tied to an input, or it would be computed once, when opened
  }
  const session = await openSession(g, options);
  return () => session.run({ zero: floats(Float32Array.of(0), []) });
}
