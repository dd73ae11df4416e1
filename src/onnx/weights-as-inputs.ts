import type { ExternalTensor, Graph } from './graph.js';
import type { ElementType, Value } from './onnx-types.js';
import type { Node } from './operators.js';

/** The parts of a finished graph. */
export type FinishedGraph = Pick<Graph, 'inputs' | 'outputs' | 'nodes' | 'initializers'>;

/** For each type that WebGPU does not have, one that holds all its values. */
const WIDER: Partial<Record<ElementType, ElementType>> = { bfloat16: 'float32', int8: 'float16' };

/**
 * The same graph with its stored weights as inputs, for a device on which all graphs are to share them. Types that WebGPU
 * does not have are wider there, and in what follows.
 */
export function weightsAsInputs({ inputs, outputs, nodes, initializers }: FinishedGraph): {
  readonly graph: FinishedGraph;
  readonly weights: readonly ExternalTensor[];
} {
  const stored = initializers.filter((initializer) => 'external' in initializer);
  const widened = new Map<string, Value>();
  const widen = (value: Value): Value => {
    const type = WIDER[value.type];
    if (!type) return value;
    const wide = { ...value, type };
    widened.set(value.name, wide);
    return wide;
  };
  const given = stored.map(({ value }) => widen(value));
  const kept: Node[] = [];
  for (const node of nodes) {
    const sources = node.inputs.map((input) => input && (widened.get(input.name) ?? input));
    const [source] = sources;
    const [result] = node.outputs;
    if (node.op === 'Cast' && source !== node.inputs[0] && source?.type === result?.type) {
      widened.set(result!.name, source!);
      continue;
    }
    const changed = sources.some((value, i) => value !== node.inputs[i]);
    kept.push({ ...node, inputs: sources, outputs: changed ? node.outputs.map(widen) : node.outputs });
  }
  return {
    graph: {
      inputs: [...inputs, ...given],
      outputs,
      nodes: kept,
      initializers: initializers.filter((initializer) => !('external' in initializer)),
    },
    weights: stored.map(({ external }) => external),
  };
}
