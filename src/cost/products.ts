import type { ModelConfig } from '../checkpoint/config.js';
import { expectedTensors, type Weights } from '../checkpoint/weights.js';
import { type Feeds, floats, openSession, type Session, type SessionOptions } from '../engine/ort-session.js';
import type { ModelSource } from '../graphs/decoder.js';
import { type ExternalTensor, Graph } from '../onnx/graph.js';
import type { Value } from '../onnx/types.js';

export interface PassSize {
  /** Positions that the pass covers. */
  readonly window: number;
  /** Positions before them, in the cache. */
  readonly past: number;
  /** Tokens of the window that are scored. */
  readonly scored: number;
}

/** Floating-point operations, two for each multiplication and addition. */
export interface Operations {
  /** Operations of products with weights. */
  readonly weights: number;
  /**
   * Operations of queries with keys and of attention with values, and their gradients. Masked entries count.
   */
  readonly attention: number;
}

/** A weight that vectors are multiplied by, `[out, inner]`. */
interface Matrix {
  readonly name: string;
  readonly out: number;
  readonly inner: number;
  /** The output head, which only scored positions pass through. */
  readonly head: boolean;
}

export function weightMatrices(config: ModelConfig): Matrix[] {
  const head = config.tieWordEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight';
  return [...expectedTensors(config)].flatMap(([name, [out, inner]]) => {
    const isLookup = name === 'model.embed_tokens.weight' && name !== head;
    return out === undefined || inner === undefined || isLookup
      ? []
      : [{ name, out, inner, head: name === head }];
  });
}

/**
 * Operations of a score pass: two forward passes, and a backward pass in which weights have no gradient, and
 * neither have keys and values before the window.
 */
export function passOperations(config: ModelConfig, { window, past, scored }: PassSize): Operations {
  const once = weightMatrices(config).reduce(
    (sum, { out, inner, head }) => sum + 2 * out * inner * (head ? scored : window),
    0,
  );
  const product = (keys: number): number => 2 * config.heads * config.headDim * window * keys;
  const keys = past + window;
  // A forward pass has two products with all keys, the backward pass two with all and two with those of the window.
  const perLayer = 3 * 2 * product(keys) + 2 * product(window);
  return { weights: 3 * once, attention: config.layers * perLayer };
}

/**
 * Pass whose products with each weight are run: the clean forward, the backward or the perturbed forward
 * pass.
 */
type Direction = 'clean' | 'backward' | 'perturbed';

/** Prepares the products of so many rows, of which `scored` go through the head; the result runs them once. */
export type Products = (rows: number, scored: number) => () => ReturnType<Session['run']>;

/** @throws Error for a weight that is not stored as fp32 */
export function fp32Weight(tensors: Weights, name: string): ExternalTensor {
  const weight = tensors.get(name);
  if (weight?.type !== 'fp32') throw new Error(`${name} is not stored as fp32`);
  return { ...weight, type: 'float32' };
}

/**
 * A session of nothing but the products of a pass with the weights, as fast as onnxruntime does them.
 * @param source its weights stored as fp32
 */
export async function openProducts(
  { config, tensors }: ModelSource,
  directions: readonly Direction[],
  options: SessionOptions,
): Promise<Products> {
  const g = new Graph();
  const inputs = new Map<string, { readonly value: Value; readonly head: boolean; readonly width: number }>();
  // Each direction has its own inputs: equal products would be merged into one.
  const input = (direction: Direction, head: boolean, width: number): Value => {
    const name = `${direction}.${head ? 'head' : 'layer'}.${width}`;
    const value = inputs.get(name)?.value ?? g.input(name, 'float32', [head ? 'scored' : 'rows', width]);
    inputs.set(name, { value, head, width });
    return value;
  };
  const first = g.ints([0]);
  for (const { name, out, inner, head } of weightMatrices(config)) {
    const weight = g.external(fp32Weight(tensors, name));
    for (const direction of directions) {
      const product =
        direction === 'backward'
          ? g.op('MatMul', [input(direction, head, out), weight])
          : g.op('Gemm', [input(direction, head, inner), weight], { transB: 1 });
      // One row of the result leaves the graph, so that the product is needed and its copy costs nothing.
      g.output(`${direction}.${name}`, g.op('Gather', [product, first], { axis: 0 }));
    }
  }
  const session = await openSession(g, options);
  return (rows, scored) => {
    const feeds: Record<string, Feeds[string]> = {};
    for (const [name, { head, width }] of inputs) {
      const count = head ? scored : rows;
      feeds[name] = floats(new Float32Array(count * width).fill(0.1), [count, width]);
    }
    return () => session.run(feeds);
  };
}
