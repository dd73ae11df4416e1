import type { Graph } from './graph.js';
import { type Attributes, GraphError, type Node, type Shape, type Value } from './types.js';

/** Enough to make exp vanish, small enough to stay finite. */
const MASKED = -1e30;

/**
 * The same graph in standard ONNX: every `GroupQueryAttention` becomes the operators that it is short for. Inputs and
 * outputs keep their names and meaning, so whoever runs the graph need not know.
 *
 * CUDA has the fused operator in half precision only; WebGPU gave wrong results for heads of 8 (onnxruntime 1.30.0).
 *
 * A node is for one text: a run with more fails, since their numbers of keys differ.
 */
export function lowerAttention(graph: Graph): Graph {
  const lowered = graph.withoutNodes();
  const positions = new Map<string, Positions>();
  for (const node of graph.nodes) {
    if (node.op === 'GroupQueryAttention') lowerNode(lowered, node, positions);
    else lowered.nodes.push(node);
  }
  return lowered;
}

/**
 * The same graph with its bf16 weights free of the ties that {@link Graph.weight} gives them, each cast once:
 * onnxruntime then folds the casts when it opens the graph. For a device that has no cast from bf16, where each run
 * would else convert the weights on the CPU and send them over; it keeps them in fp32.
 */
export function untieBfloat16(graph: Graph): Graph {
  const untied = graph.withoutNodes();
  const stored = new Set(graph.initializers.map(({ value }) => value));
  /** What a value is replaced by: a tied weight by the stored one, a cast by the first of the same weight. */
  const replaced = new Map<Value, Value>();
  const casts = new Map<Value, Value>();
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((input) => (input ? (replaced.get(input) ?? input) : input));
    const [input] = inputs;
    const [output] = node.outputs;
    if (input?.type === 'bfloat16' && output && stored.has(input)) {
      const cast = casts.get(input);
      if (node.op === 'Cast' && cast) replaced.set(output, cast);
      if (node.op === 'Cast' && !cast) casts.set(input, output);
      if (node.op === 'Reshape') replaced.set(output, input);
    }
    if (!output || !replaced.has(output)) untied.nodes.push({ ...node, inputs });
  }
  return untied;
}

/** What all layers share: the number of keys, and which of them each row sees. */
interface Positions {
  /** The number of keys, int64 `[1]`, by name and as a value. */
  readonly total: Value;
  readonly totalName: string;
  /** Of them before this run, int64 `[1]`. */
  readonly past: Value;
  /** What is added to the attention scores, `[1, 1, 1, rows, total]`. */
  readonly mask: Value;
}

/** Query `[1, rows, heads · headDim]`, key and value `[1, rows, kvHeads · headDim]`, caches `[1, kvHeads, capacity, headDim]`. */
function lowerNode(g: Graph, { inputs, outputs, attributes }: Node, known: Map<string, Positions>): void {
  const [query, key, value, pastKey, pastValue, , totalLength] = inputs;
  const [mixed, presentKey, presentValue] = outputs;
  if (!query || !key || !value || !pastKey || !pastValue || !totalLength)
    throw new GraphError('GroupQueryAttention', 'an input is missing');
  if (!mixed || !presentKey || !presentValue)
    throw new GraphError('GroupQueryAttention', 'an output is missing');

  const rows = query.shape[1]!;
  const [, kvHeads, capacity, headDim] = pastKey.shape;
  if (typeof kvHeads !== 'number' || typeof headDim !== 'number' || capacity === undefined)
    throw new GraphError('GroupQueryAttention', `heads of unknown size in [${pastKey.shape}]`);
  const heads = numberOf(attributes, 'num_heads');
  const group = heads / kvHeads;
  const window = numberOf(attributes, 'local_window_size');
  const shared = `${totalLength.name} ${rows} ${window}`;
  const positions = known.get(shared) ?? positionsOf(g, query, totalLength, window);
  known.set(shared, positions);

  /** The keys or values up to now, and the whole cache with them in it. */
  const extend = (past: Value, added: Value, present: Value): Value => {
    const { total, totalName, past: before } = positions;
    const byHead = g.transpose(g.reshape(added, [1, rows, kvHeads, headDim]), [0, 2, 1, 3]);
    const kept = cut(g, past, g.ints([0]), before, `${totalName}-${rows}`);
    const all = g.node('Concat', [kept, byHead], { axis: 2 }, [
      { type: 'float32', shape: [1, kvHeads, totalName, headDim] },
    ])[0]!;
    const rest = cut(g, past, total, g.sizes([capacity]), `${capacity}-${totalName}`);
    g.nodes.push({ op: 'Concat', inputs: [all, rest], outputs: [present], attributes: { axis: 2 } });
    return all;
  };
  const keys = extend(pastKey, key, presentKey);
  const values = extend(pastValue, value, presentValue);

  const scaled = g.op('Mul', [query, g.scalar(numberOf(attributes, 'scale'))]);
  const grouped = g.transpose(g.reshape(scaled, [1, rows, kvHeads, group, headDim]), [0, 2, 3, 1, 4]);
  const queries = g.reshape(grouped, [1, kvHeads, `${group}*${rows}`, headDim]);
  const products = g.op('MatMul', [queries, g.transpose(keys, [0, 1, 3, 2])]);
  const scores = g.reshape(products, [1, kvHeads, group, rows, positions.totalName]);
  const weights = g.op('Softmax', [g.op('Add', [scores, positions.mask])], { axis: -1 });
  const sums = g.op('MatMul', [g.reshape(weights, products.shape), values]);
  const byRow = g.transpose(g.reshape(sums, [1, kvHeads, group, rows, headDim]), [0, 3, 1, 2, 4]);
  const target = g.ints([1, -1, heads * headDim]);
  g.nodes.push({ op: 'Reshape', inputs: [byRow, target], outputs: [mixed], attributes: {} });
}

function positionsOf(g: Graph, query: Value, totalLength: Value, window: number): Positions {
  const rows = query.shape[1]!;
  const totalName = `${totalLength.name}.keys`;
  const total = g.reshape(g.cast(totalLength, 'int64'), [1]);
  const past = g.op('Sub', [total, g.sizes([rows])]);
  const scalar = (size: Value): Value =>
    g.node('Reshape', [size, g.ints([])], {}, [{ type: 'int64', shape: [] }])[0]!;
  const range = (from: Value, name: Shape[number]): Value =>
    g.node('Range', [from, scalar(total), g.ints([1], [])], {}, [{ type: 'int64', shape: [name] }])[0]!;
  const keys = range(g.ints([0], []), totalName);
  const queries = g.unsqueeze(range(scalar(past), rows), [1]);
  let visible = g.op('GreaterOrEqual', [queries, keys]);
  if (window > 0) {
    const horizon = g.op('Sub', [queries, g.ints([window], [])]);
    visible = g.op('And', [visible, g.op('Greater', [keys, horizon])]);
  }
  const mask = g.unsqueeze(g.op('Where', [visible, g.scalar(0), g.scalar(MASKED)]), [0, 1, 2]);
  return { total, totalName, past, mask };
}

/** Positions `from` to `to − 1` of a cache. */
function cut(g: Graph, cache: Value, from: Value, to: Value, size: string): Value {
  const shape = cache.shape.with(2, size);
  return g.node('Slice', [cache, from, to, g.ints([2])], {}, [{ type: cache.type, shape }])[0]!;
}

function numberOf(attributes: Attributes, name: string): number {
  const value = attributes[name];
  if (typeof value !== 'number') throw new GraphError('GroupQueryAttention', `needs ${name}`);
  return value;
}
