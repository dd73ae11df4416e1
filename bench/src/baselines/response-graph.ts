import { UndirectedGraph } from 'graphology';
import { closeness as closenessCentrality } from 'graphology-metrics/centrality/index.js';
import { cluster } from './k-means.js';

/**
 * Graph Uncertainty (arXiv 2410.20783; Mingjianjiang-1/Graph-based-Uncertainty): responses and what they claim are the
 * nodes of a graph, and a claim is as certain as it is close to all others. Here claims are steps, those of like meaning
 * being one (arXiv 2602.02427; docs/design/evaluation.md, section 6.2).
 */

export interface GraphOptions {
  /** Clusters for each step that a response has on average. */
  readonly clusterScale?: number;
  readonly seed?: number;
}

/** Clusters of the responses' steps. */
export interface StepGraph {
  /** The cluster of each step of the first response. */
  readonly clusters: readonly number[];
  /** Whether a step of the response is in the cluster, `[response][cluster]`. */
  readonly edges: readonly (readonly boolean[])[];
}

/**
 * How uncertain each step of the first response is: −closeness of its cluster in the graph of responses and clusters.
 * Steps of one cluster tie.
 * @param embeddings of the steps of each response, `[response][step][dimension]`, of length 1 by their norm
 */
export function graphUncertainty(
  embeddings: readonly (readonly (readonly number[])[])[],
  options: GraphOptions = {},
): number[] {
  if (!embeddings[0] || embeddings[0].length === 0) return [];
  const { clusters, edges } = stepGraph(embeddings, options);
  const closeness = claimCloseness(edges);
  return clusters.map((node) => -closeness[node]!);
}

/** @param embeddings as for {@link graphUncertainty}; the first response has a step */
export function stepGraph(
  embeddings: readonly (readonly (readonly number[])[])[],
  { clusterScale = 1, seed = 0 }: GraphOptions = {},
): StepGraph {
  const steps = embeddings.flat();
  const k = clusterCount(embeddings, clusterScale);
  const clusters = compact(k < 2 ? steps.map(() => 0) : cluster(steps, k, seed));
  const owner = embeddings.flatMap((own, response) => own.map(() => response));
  const edges = embeddings.map((_, response) =>
    Array.from({ length: Math.max(...clusters) + 1 }, (_, node) =>
      clusters.some((one, step) => one === node && owner[step] === response),
    ),
  );
  return { clusters: clusters.slice(0, embeddings[0]?.length ?? 0), edges };
}

/** The mean number of steps of a response, scaled; from 2 to the number of steps that differ. */
export function clusterCount(embeddings: readonly (readonly (readonly number[])[])[], scale = 1): number {
  const steps = embeddings.flat();
  const distinct = new Set(steps.map((step) => step.join())).size;
  return Math.min(distinct, Math.max(2, Math.round((scale * steps.length) / embeddings.length)));
}

/**
 * Closeness centrality (Wasserman and Faust) of each claim in the undirected graph of responses and claims:
 * with r nodes in reach, D the sum of their distances and N all nodes, (r / D) · (r / (N − 1)); 0 for a claim
 * that no response supports.
 * @param edges whether response i supports claim j, `[response][claim]`
 */
export function claimCloseness(edges: readonly (readonly boolean[])[]): number[] {
  const graph = new UndirectedGraph();
  const claims = edges[0]?.length ?? 0;
  for (let claim = 0; claim < claims; claim += 1) graph.addNode(`claim ${claim}`);
  for (const [response, supports] of edges.entries()) {
    graph.addNode(`response ${response}`);
    for (const [claim, supported] of supports.entries()) {
      if (supported) graph.addEdge(`response ${response}`, `claim ${claim}`);
    }
  }
  const closeness = closenessCentrality(graph, { wassermanFaust: true });
  return Array.from({ length: claims }, (_, claim) => closeness[`claim ${claim}`]!);
}

/** Numbers without gaps: a cluster that lost all of its points is no node. */
function compact(clusters: readonly number[]): number[] {
  const used = [...new Set(clusters)].sort((a, b) => a - b);
  return clusters.map((one) => used.indexOf(one));
}
