import { isDeepStrictEqual } from 'node:util';
import type { ModelSource } from '../../graphs/decoder.js';
import type { Graph } from '../../onnx/graph.js';
import { buildGraph, type GraphSpec, type PlainSpec } from '../child/graph-sessions.js';

/** The graphs that an inference server runs. Each is a model there, of the name that {@link servedName} gives it. */
export const SERVED_GRAPHS = {
  score: { kind: 'score', sequences: 1, form: 'perturb' },
  forward: { kind: 'forward', sequences: 1, result: 'statistics' },
  /** These three are for windows that are too long for one run. */
  hidden: { kind: 'forward', sequences: 1, result: 'hidden' },
  backward: { kind: 'backward' },
  compare: { kind: 'forward', sequences: 1, result: 'compare', noise: true },
} as const satisfies Record<string, PlainSpec>;

export type ServedGraph = keyof typeof SERVED_GRAPHS;

export const SERVED_GRAPH_NAMES: readonly ServedGraph[] = [
  'score',
  'forward',
  'hidden',
  'backward',
  'compare',
];

/** @throws Error for a graph that is not served */
export function servedGraphOf(spec: GraphSpec): ServedGraph {
  const graph = SERVED_GRAPH_NAMES.find((name) => isDeepStrictEqual(SERVED_GRAPHS[name], spec));
  if (!graph) throw new Error(`an inference server has no graph ${JSON.stringify(spec)}`);
  return graph;
}

export const servedName = (model: string, graph: ServedGraph): string => `${model}_${graph}`;

/** In standard operators: they run on every device, and the fused attention does not. */
export const buildServedGraph = (source: ModelSource, graph: ServedGraph): Graph =>
  buildGraph(source, SERVED_GRAPHS[graph], false);
