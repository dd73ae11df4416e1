import { UsageError } from 'flinch/internals';
import type { ClaimGraph } from '../../baselines/claim-graph.js';
import { each } from '../../concurrent-map.js';
import { needsClaimGraph, samplesNeeded } from '../../measures/measure.js';
import type { ClaimGraphRecord } from '../../records/records.js';
import { scoredIn } from '../../records/selection.js';
import type { BenchProblem } from '../../suites/suite.js';
import { type Run, stepMode, textOf } from '../run-context.js';
import { comparable, storedSamples } from './further-responses.js';

/**
 * Builds the graphs of support between claims and responses, for the responses that are scored, if a measure
 * uses them.
 */
export async function buildGraphs(run: Run): Promise<void> {
  const { suite, problems, records, rule, measures, signal } = run;
  if (!needsClaimGraph(measures)) return;
  const scored = scoredIn(suite, problems, records, rule);
  const all = problems.filter(({ id }) => scored.has(id));
  const missing = all.filter(({ id }) => !records.graphs.has(id));
  await each('graph', missing, async (problem) => void records.graphs.add(await buildGraph(run, problem)), {
    done: all.length - missing.length,
    signal,
  });
}

async function buildGraph(run: Run, problem: BenchProblem): Promise<ClaimGraphRecord> {
  const { judge, records, measures } = run;
  if (!judge) throw needsJudge();
  const { id } = problem;
  const needed = samplesNeeded(measures.filter(({ kind }) => kind === 'claim_graph'));
  const mode = stepMode(problem);
  const others = storedSamples(run, id, needed).map((sample) => comparable(sample, mode, () => false).text);
  const own = records.claims.get(id)!.claims.map(({ claim }) => claim);
  return { id, ...(await judge.graph(own, [textOf(records.responses.get(id)!), ...others])) };
}

export const needsJudge = (): UsageError =>
  new UsageError('--judge: is required with the measure graph-claims, for which it reads all responses');

/**
 * Graph in the form that measures take: claims of the response with the same words are one.
 * @throws UsageError where it has not been made
 */
export function claimGraphOf({ records }: Pick<Run, 'records'>, id: string): ClaimGraph {
  const [graph, known] = [records.graphs.get(id), records.claims.get(id)];
  if (!graph || !known)
    throw new UsageError('--stages: the measure graph-claims requires the stage graph before score');
  const places = new Map(graph.claims.map(({ claim }, place) => [claim, place]));
  return {
    statedBy: graph.claims.map(({ response }) => response),
    edges: graph.edges,
    scored: known.claims.map(({ claim }) => places.get(claim)!),
  };
}
