import type { Graph } from './graph.js';
import type { Value } from './onnx-types.js';
import type { FinishedGraph } from './weights-as-inputs.js';

export interface SplitGraph {
  readonly first: FinishedGraph;
  readonly second: FinishedGraph;
  /** Outputs of the first that are inputs of the second, by the same names. */
  readonly handedOn: readonly string[];
}

/**
 * Cuts a graph in two that run one after the other: what its first nodes compute, and the rest. An output belongs to the
 * part that computes it.
 * @param count how many nodes the first part has
 */
export function splitGraph({ inputs, outputs, nodes, initializers }: Graph, count: number): SplitGraph {
  const parts = [nodes.slice(0, count), nodes.slice(count)] as const;
  const [made, used] = [
    new Set(parts[0].flatMap((node) => node.outputs)),
    parts.map((part) => new Set(part.flatMap((node) => node.inputs))),
  ];
  const names = new Map(outputs.map(({ name, value }) => [value, name]));
  const crossing = [...used[1]!].filter((value) => value !== null && made.has(value)) as Value[];
  const handedOn = crossing.map((value) => ({ name: names.get(value) ?? `kept.${value.name}`, value }));
  const renamed = new Map(handedOn.map(({ name, value }) => [value, { ...value, name }]));
  const own = (part: 0 | 1) => ({
    inputs: inputs.filter((input) => used[part]!.has(input)),
    initializers: initializers.filter(({ value }) => used[part]!.has(value)),
  });
  const given = outputs.filter(({ value }) => made.has(value));
  return {
    first: {
      ...own(0),
      nodes: parts[0],
      outputs: [...given, ...handedOn.filter(({ value }) => !names.has(value))],
    },
    second: {
      ...own(1),
      inputs: [...own(1).inputs, ...renamed.values()],
      nodes: parts[1].map((node) => ({
        ...node,
        inputs: node.inputs.map((input) => (input && renamed.get(input)) ?? input),
      })),
      outputs: outputs.filter(({ value }) => !made.has(value)),
    },
    handedOn: handedOn.map(({ name }) => name),
  };
}
