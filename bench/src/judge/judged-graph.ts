import { z } from 'zod';
import type { ClaimGraphRecord } from '../records/records.js';
import { type Endpoint, JudgeError } from './endpoint.js';
import { decomposePrompt, entailPrompt, unionPrompt } from './judge-prompts.js';

const statedSchema = z.object({ claims: z.array(z.string().trim().min(1)) });
const supportedSchema = z.object({ supported: z.boolean() });
/** Numbers of a list, from 1. */
const newSchema = (count: number) => z.object({ new: z.array(z.int().min(1).max(count)) });

/**
 * The graph of responses and claims of Graph Uncertainty (arXiv 2410.20783; Mingjianjiang-1/Graph-based-Uncertainty).
 * The claims of the further responses are added one response after the other, those that are not yet known; then each
 * response is compared with each claim. As in that code, an answer that cannot be read adds no claim and no edge.
 * @param own claims of the first response
 * @param responses texts, the first one first; one without text is not asked about
 * @throws JudgeError; also where none of the comparisons could be read
 */
export async function buildClaimGraph(
  endpoint: Endpoint,
  own: readonly string[],
  responses: readonly string[],
): Promise<Omit<ClaimGraphRecord, 'id'>> {
  const claims = [...new Set(own)].map((claim) => ({ claim, response: 0 }));
  let unreadable = 0;
  for (const [response, text] of responses.entries()) {
    if (response === 0 || isEmpty(text)) continue;
    const added = await newClaims(
      endpoint,
      claims.map(({ claim }) => claim),
      text,
    );
    if (added === null) unreadable += 1;
    else claims.push(...added.map((claim) => ({ claim, response })));
  }
  const edges: boolean[][] = [];
  let read = 0;
  for (const text of responses) {
    const row: boolean[] = [];
    // The requests are sequential, so that a repeated one is answered from the cache.
    for (const { claim } of claims) {
      const answer = isEmpty(text) ? null : await endpoint.json(entailPrompt(text, claim), supportedSchema);
      if (answer) read += 1;
      else if (!isEmpty(text)) unreadable += 1;
      row.push(answer?.supported ?? false);
    }
    edges.push(row);
  }
  if (read === 0 && unreadable > 0)
    throw new JudgeError('the judge: none of its answers on which response supports which claim can be read');
  return { claims, edges, unreadable };
}

const isEmpty = (text: string): boolean => text.trim() === '';

/** Statements of a text that are not among the known ones; `null` if an answer could not be read. */
async function newClaims(
  endpoint: Endpoint,
  known: readonly string[],
  text: string,
): Promise<string[] | null> {
  const stated = await endpoint.json(decomposePrompt(text), statedSchema);
  if (stated === null) return null;
  const others = [...new Set(stated.claims)].filter((claim) => !known.includes(claim));
  if (others.length === 0) return [];
  const added = await endpoint.json(unionPrompt(known, others), newSchema(others.length));
  return added && others.filter((_, i) => added.new.includes(i + 1));
}
