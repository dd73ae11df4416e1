import type { LocatedRecord } from '../run/records.js';
import type { BenchProblem } from '../suites/suite.js';
import type { Endpoint } from './endpoint.js';
import { judgeAnswer, judgeStep } from './llm-judge.js';

/** Tells what no rule can. */
export interface Judge {
  /** Whether the final answer is right; `null` where the judge's word could not be read. */
  check(problem: BenchProblem, response: string): Promise<boolean | null>;
  /** Where the first wrong step of a wrong response is, or why that is not known. */
  locate(problem: BenchProblem, response: string): Promise<Omit<LocatedRecord, 'id' | 'by'>>;
}

/** A model that is asked. @param accepted how alike its quotation of a step and the response must be */
export function endpointJudge(endpoint: Endpoint, kind: 'math' | 'logic', accepted: number): Judge {
  const judged = ({ question, reference }: BenchProblem, response: string) => ({
    question,
    reference: reference ?? '',
    response,
  });
  return {
    check: (problem, response) => judgeAnswer(endpoint, judged(problem, response)),
    locate: (problem, response) => judgeStep(endpoint, kind, judged(problem, response), accepted),
  };
}
