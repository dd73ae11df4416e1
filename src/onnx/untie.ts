import type { Graph } from './graph.js';
import type { Node } from './operators.js';
import type { Value } from './types.js';

/** What a graph is when it is finished. */
export type FinishedGraph = Pick<Graph, 'inputs' | 'outputs' | 'nodes' | 'initializers'>;

/**
 * The same graph with its bf16 weights free of the ties that {@link Graph.weight} gives them, each cast once:
 * onnxruntime then folds the casts when it opens the graph. For a device that has no cast from bf16, where each run
 * would else convert the weights on the CPU and send them over; it keeps them in fp32.
 */
export function untieBfloat16({ inputs, outputs, nodes, initializers }: FinishedGraph): FinishedGraph {
  const stored = new Set(initializers.map(({ value }) => value));
  /** What a value is replaced by: a tied weight by the stored one, a cast by the first of the same weight. */
  const replaced = new Map<Value, Value>();
  const casts = new Map<Value, Value>();
  const untied: Node[] = [];
  for (const node of nodes) {
    const sources = node.inputs.map((input) => (input ? (replaced.get(input) ?? input) : input));
    const [input] = sources;
    const [output] = node.outputs;
    if (input?.type === 'bfloat16' && output && stored.has(input)) {
      const cast = casts.get(input);
      if (node.op === 'Cast' && cast) replaced.set(output, cast);
      if (node.op === 'Cast' && !cast) casts.set(input, output);
      if (node.op === 'Reshape') replaced.set(output, input);
    }
    if (!output || !replaced.has(output)) untied.push({ ...node, inputs: sources });
  }
  return { inputs, outputs, nodes: untied, initializers };
}
