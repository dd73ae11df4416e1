import type { ClaimGraphRecord, ClaimsRecord, LocatedRecord } from '../records/records.js';
import { wholeQuestion } from '../suites/own/problems.js';
import type { BenchProblem } from '../suites/suite.js';
import { buildClaimGraph } from './claim-graph.js';
import { judgeClaims } from './claims.js';
import type { Endpoint } from './endpoint.js';
import { judgeAnswer, judgeStep } from './llm-judge.js';

/** Tells what no rule can. */
export interface Judge {
  /** Whether the final answer is right; `null` where the judge's word could not be read. */
  check(problem: BenchProblem, response: string): Promise<boolean | null>;
  /** Position of the first wrong step of a wrong response, or why it is not known. */
  locate(problem: BenchProblem, response: string): Promise<Omit<LocatedRecord, 'id' | 'by'>>;
  /**
   * The claims of a response, and which are supported; `null` where the judge's words could not be read.
   * @param evidence passages about the topic; without any it is what the judge knows
   */
  claims(
    topic: string,
    response: string,
    evidence: readonly string[],
  ): Promise<ClaimsRecord['claims'] | null>;
  /**
   * Support of each claim by each of several responses to one question, the first of which has these claims.
   */
  graph(claims: readonly string[], responses: readonly string[]): Promise<Omit<ClaimGraphRecord, 'id'>>;
}

/** A model that is asked. */
export function endpointJudge(endpoint: Endpoint, kind: 'math' | 'logic'): Judge {
  const judged = (problem: BenchProblem, response: string) => ({
    question: wholeQuestion(problem),
    // Of choices the letter, whatever the file has.
    reference: problem.row?.choices ? problem.row.answers.join(' | ') : problem.reference,
    response,
  });
  return {
    check: (problem, response) => judgeAnswer(endpoint, judged(problem, response)),
    locate: (problem, response) => judgeStep(endpoint, kind, judged(problem, response)),
    claims: (topic, response, evidence) => judgeClaims(endpoint, topic, response, evidence),
    graph: (claims, responses) => buildClaimGraph(endpoint, claims, responses),
  };
}
