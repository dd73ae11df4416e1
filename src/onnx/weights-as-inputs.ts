import type { ExternalTensor, Graph } from './graph.js';
import type { Node } from './operators.js';
import type { Value } from './types.js';

/** The parts of a finished graph. */
export type FinishedGraph = Pick<Graph, 'inputs' | 'outputs' | 'nodes' | 'initializers'>;

/**
 * The same graph with its stored weights as inputs, for a device on which all graphs are to share them. Inputs for bf16
 * weights are fp32, and their casts are gone: WebGPU has no bf16.
 */
export function weightsAsInputs({ inputs, outputs, nodes, initializers }: FinishedGraph): {
  readonly graph: FinishedGraph;
  readonly weights: readonly ExternalTensor[];
} {
  const stored = initializers.filter((initializer) => 'external' in initializer);
  /** Replacements of values in bf16, or of casts of them, by name. */
  const replaced = new Map<string, Value>();
  const widened = (value: Value): Value => {
    if (value.type !== 'bfloat16') return value;
    const wide: Value = { ...value, type: 'float32' };
    replaced.set(value.name, wide);
    return wide;
  };
  const given = stored.map(({ value }) => widened(value));
  const weights = new Set(stored.map(({ value }) => value.name));
  const kept: Node[] = [];
  for (const node of nodes) {
    const sources = node.inputs.map((input) => (input ? (replaced.get(input.name) ?? input) : input));
    const [before] = node.inputs;
    const [output] = node.outputs;
    // A cast from bf16, or the tie of one (Graph.weight): the weight itself.
    const isNothing = before && (node.op === 'Cast' || (node.op === 'Reshape' && weights.has(before.name)));
    if (before?.type === 'bfloat16' && isNothing) replaced.set(output!.name, sources[0]!);
    else kept.push({ ...node, inputs: sources, outputs: node.outputs.map(widened) });
  }
  return {
    graph: {
      ...{ inputs: [...inputs, ...given], outputs, nodes: kept },
      initializers: initializers.filter((initializer) => !('external' in initializer)),
    },
    weights: stored.map(({ external }) => external),
  };
}
