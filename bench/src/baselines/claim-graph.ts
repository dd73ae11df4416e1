import { claimCloseness } from './response-graph.js';

/**
 * Responses, and the claims that a judge took from them (arXiv 2410.20783; docs/design/evaluation.md, section 6.1).
 * Response 0 is the one that is scored.
 */
export interface ClaimGraph {
  /** First response that each claim was taken from, ascending. */
  readonly statedBy: readonly number[];
  /** Whether the response supports the claim, `[response][claim]`. */
  readonly edges: readonly (readonly boolean[])[];
  /** Index of each scored claim among all claims. */
  readonly scored: readonly number[];
}

/**
 * How uncertain each claim that is scored is: −closeness in the graph, at most 0.
 * @param samples further responses that count, the first ones: claims that only later ones state are no nodes
 * @throws RangeError where the graph has fewer
 */
export function claimUncertainty({ statedBy, edges, scored }: ClaimGraph, samples: number): number[] {
  if (edges.length <= samples)
    throw new RangeError(`the graph of claims has ${edges.length - 1} samples, not ${samples}`);
  const claims = statedBy.filter((response) => response <= samples).length;
  const closeness = claimCloseness(edges.slice(0, samples + 1).map((row) => row.slice(0, claims)));
  return scored.map((claim) => 0 - closeness[claim]!);
}
