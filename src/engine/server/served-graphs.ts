import { isDeepStrictEqual } from 'node:util';
import type { ModelSource } from '../../graphs/decoder.js';
import type { Graph } from '../../onnx/graph.js';
import type { Value } from '../../onnx/onnx-types.js';
import { buildGraph, type GraphSpec, type PlainSpec } from '../child/graph-sessions.js';

/** The graphs that an inference server runs. Each is a model there, of the name that {@link servedName} gives it. */
export const SERVED_GRAPHS = {
  /** Its server holds keys and values; with the others they are sent. */
  sequence: { kind: 'sequence' },
  score: { kind: 'score', sequences: 1, form: 'derivative' },
  forward: { kind: 'forward', sequences: 1, result: 'statistics' },
} as const satisfies Record<string, PlainSpec>;

export type ServedGraph = keyof typeof SERVED_GRAPHS;

/** Graphs without a state at the server. */
export const STATELESS_GRAPHS = ['score', 'forward'] as const;

export const SERVED_GRAPH_NAMES: readonly ServedGraph[] = ['sequence', ...STATELESS_GRAPHS];

/** @throws Error for a graph that is not served */
export function servedGraphOf(spec: GraphSpec): ServedGraph {
  if (spec.kind === 'forward' && spec.result === 'hidden')
    throw new Error('the window is too long for one run of an inference server');
  const graph = SERVED_GRAPH_NAMES.find((name) => isDeepStrictEqual(SERVED_GRAPHS[name], spec));
  if (!graph) throw new Error(`an inference server has no graph ${JSON.stringify(spec)}`);
  return graph;
}

export const servedName = (model: string, graph: ServedGraph): string => `${model}_${graph}`;

export const buildServedGraph = (source: ModelSource, graph: ServedGraph): Graph =>
  buildGraph(source, SERVED_GRAPHS[graph]);

/** Inputs and outputs of a served graph. */
export interface Signature {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  /** Tensors that the server passes from one run of a sequence to the next: no client sends or gets them. */
  readonly states: readonly { readonly input: Value; readonly output: Value }[];
}

export function signatureOf({ inputs, outputs }: Pick<Graph, 'inputs' | 'outputs'>): Signature {
  const named = outputs.map(({ name, value }): Value => ({ ...value, name }));
  const states = inputs.flatMap((input) => {
    const output = named.find(({ name }) => name === `present_${input.name}`);
    return output ? [{ input, output }] : [];
  });
  const ofState = new Set(states.flatMap(({ input, output }) => [input.name, output.name]));
  const visible = (values: readonly Value[]): Value[] => values.filter(({ name }) => !ofState.has(name));
  return { inputs: visible(inputs), outputs: visible(named), states };
}
