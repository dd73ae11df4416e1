import { floats, openSession } from '../engine/ort-session.js';
import { Graph } from '../onnx/graph.js';
import { fastest, timed } from './timing.js';

/** How fast a machine computes and reads: what the time of a model is estimated from. */
export interface MachineSpeed {
  /** Floating-point operations in a second, of products of fp32 matrices. */
  readonly flops: number;
  /** Bytes read from memory in a second. */
  readonly bandwidth: number;
}

/** Shape of the product, that of a layer of some size: `[ROWS, WIDTH] × [WIDTH, WIDTH]`. */
const ROWS = 256;
const WIDTH = 2048;
/** Rows of the array that is read, `[READ, WIDTH]`: 256 MB, far more than caches hold. */
const READ = 31_250;
const ROUNDS = 3;

/** Measures what onnxruntime reaches here with so many threads, in about two seconds; the fastest of a few runs. */
export async function measureMachine(threads: number): Promise<MachineSpeed> {
  const works = [await openProduct(threads), await openSum(threads)];
  const [product, sum] = await fastest(ROUNDS, works.map(timed));
  return {
    flops: (2 * ROWS * WIDTH * WIDTH * 1000) / product!,
    bandwidth: (4 * READ * WIDTH * 1000) / sum!,
  };
}

const matrix = (rows: number) => floats(new Float32Array(rows * WIDTH).fill(0.1), [rows, WIDTH]);

async function openProduct(threads: number): Promise<() => Promise<unknown>> {
  const g = new Graph();
  const [x, weight] = [g.input('x', 'float32', [ROWS, WIDTH]), g.input('weight', 'float32', [WIDTH, WIDTH])];
  g.output('product', g.op('Gemm', [x, weight], { transB: 1 }));
  const session = await openSession(g, { threads });
  const feeds = { x: matrix(ROWS), weight: matrix(WIDTH) };
  return () => session.run(feeds);
}

/** Sums of the rows of one large array. */
async function openSum(threads: number): Promise<() => Promise<unknown>> {
  const g = new Graph();
  g.output('sums', g.reduce('ReduceSum', g.input('x', 'float32', ['rows', WIDTH]), [1]));
  const session = await openSession(g, { threads });
  const x = matrix(READ);
  return () => session.run({ x });
}
