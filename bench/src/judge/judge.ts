import { z } from 'zod';
import type { LocatedRecord } from '../records/records.js';
import { wholeQuestion } from '../suites/own/own-problems.js';
import type { BenchProblem } from '../suites/suite.js';
import type { Endpoint } from './endpoint.js';
import { longestQuoted } from './json-in.js';
import { analysePrompt, checkPrompt, extractPrompt, type Judged } from './judge-prompts.js';
import { judgeClaims } from './judged-claims.js';
import { buildClaimGraph } from './judged-graph.js';
import { matchStep } from './match-step.js';

/** Tells what no rule can. */
export type Judge = ReturnType<typeof endpointJudge>;

/** A model that is asked. */
export function endpointJudge(endpoint: Endpoint, kind: 'math' | 'logic') {
  const judged = (problem: BenchProblem, response: string): Judged => ({
    question: wholeQuestion(problem),
    // Of choices the letter, whatever the file has.
    reference: problem.row?.choices ? problem.row.answers.join(' | ') : problem.reference,
    response,
  });
  return {
    check: (problem: BenchProblem, response: string) => judgeAnswer(endpoint, judged(problem, response)),
    locate: (problem: BenchProblem, response: string) => judgeStep(endpoint, kind, judged(problem, response)),
    claims: (topic: string, response: string, evidence: readonly string[]) =>
      judgeClaims(endpoint, topic, response, evidence),
    graph: (claims: readonly string[], responses: readonly string[]) =>
      buildClaimGraph(endpoint, claims, responses),
  };
}

const sameSchema = z.object({ same: z.boolean() });
const stepSchema = z.object({ step: z.string().nullable() });

/** The first wrong step, as far as the judge and its quotation tell. */
export type JudgedStep = Pick<LocatedRecord, 'span' | 'rejected' | 'judged' | 'similarity'>;

/**
 * Whether the response ends with the right answer (prompt 1 of the paper); `null` where the judge's answers could not be
 * read.
 * @throws JudgeError
 */
export async function judgeAnswer(endpoint: Endpoint, judged: Judged): Promise<boolean | null> {
  return (await endpoint.json(checkPrompt(judged), sameSchema))?.same ?? null;
}

/**
 * The first wrong step of a wrong response: an analysis of the whole (prompts 2 and 3), from it the text of the first
 * critical mistake (prompt 4), and where in the response that is.
 * @throws JudgeError
 */
export async function judgeStep(
  endpoint: Endpoint,
  kind: 'math' | 'logic',
  judged: Judged,
): Promise<JudgedStep> {
  const { response } = judged;
  const analysis = await endpoint.text(analysePrompt(kind, judged));
  const answer = await endpoint.json(extractPrompt(response, analysis), stepSchema, (content) => {
    const step = longestQuoted(content);
    return step === null ? null : { step };
  });
  if (!answer) return { span: null, rejected: 'unreadable' };
  const { step } = answer;
  if (step === null || step.trim() === '') return { span: null, rejected: 'none_named' };
  const match = matchStep(step, response);
  if (!match) return { span: null, rejected: 'no_match', judged: step };
  return { span: [...match.span], judged: step, similarity: match.similarity };
}
