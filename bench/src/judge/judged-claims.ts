import { segmentText } from 'flinch';
import { z } from 'zod';
import type { ClaimsRecord } from '../records/records.js';
import type { Span } from '../steps/first-wrong-step.js';
import type { Endpoint } from './endpoint.js';
import { claimsPrompt, supportPrompt } from './judge-prompts.js';
import { bestPassages } from './passages.js';

/** A statement of a response, and where its words are. */
export interface Claim {
  readonly claim: string;
  /** Positions of the words that were found, in their order; the whole sentence if none was. */
  readonly spans: readonly Span[];
}

const claimsSchema = z.object({
  claims: z.array(z.object({ claim: z.string().min(1), words: z.array(z.string()).default([]) })),
});
const supportSchema = z.object({ supported: z.boolean().nullable() });

/**
 * The statements of a text, sentence by sentence, as FActScore has them (arXiv 2305.14251).
 * @returns `null` where the judge's answer for a sentence could not be read
 * @throws JudgeError
 */
export async function splitClaims(endpoint: Endpoint, text: string): Promise<Claim[] | null> {
  const claims: Claim[] = [];
  for (const { start, text: sentence } of segmentText(text)) {
    const found = await endpoint.json(claimsPrompt(text, sentence.trim()), claimsSchema);
    if (!found) return null;
    for (const { claim, words } of found.claims) {
      const spans = alignWords(words, sentence);
      const whole: Span = [start, start + sentence.trimEnd().length];
      claims.push({
        claim,
        spans: spans.length > 0 ? spans.map(([from, to]) => [start + from, start + to] as const) : [whole],
      });
    }
  }
  return claims;
}

/**
 * The statements of a text, each with its words' places and whether it is supported.
 * @param evidence passages, of which those go into the prompt that fit the statement best
 * @returns `null` where they could not be read
 * @throws JudgeError
 */
export async function judgeClaims(
  endpoint: Endpoint,
  topic: string,
  text: string,
  evidence: readonly string[],
): Promise<ClaimsRecord['claims'] | null> {
  const claims = await splitClaims(endpoint, text);
  if (claims === null) return null;
  const judged: ClaimsRecord['claims'] = [];
  // The requests are sequential, so that a repeated statement is answered from the cache.
  for (const { claim, spans } of claims) {
    const passages = bestPassages(evidence, `${topic} ${claim}`);
    const supported = await judgeSupport(endpoint, topic, claim, passages);
    judged.push({ claim, spans: spans.map(([from, to]) => [from, to]), supported });
  }
  return judged;
}

/**
 * Positions of the words in a sentence: each at its first place after the one before it; words that are not
 * there are left out (greedy matching in order, as lm-polygraph's).
 */
export function alignWords(words: readonly string[], sentence: string): Span[] {
  const spans: Span[] = [];
  const lower = sentence.toLowerCase();
  let from = 0;
  for (const word of words.flatMap((entry) => entry.toLowerCase().split(/\s+/))) {
    const at = word === '' ? -1 : wordAt(lower, word, from);
    if (at < 0) continue;
    spans.push([at, at + word.length]);
    from = at + word.length;
  }
  return spans;
}

/** The next place of a word that is not within another word. */
function wordAt(text: string, word: string, from: number): number {
  for (let at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) {
    const apart =
      !(isLetter(text[at - 1]) && isLetter(word[0])) &&
      !(isLetter(text[at + word.length]) && isLetter(word.at(-1)));
    if (apart) return at;
  }
  return -1;
}

const isLetter = (unit: string | undefined): boolean => unit !== undefined && /[\p{L}\p{N}]/u.test(unit);

/**
 * Whether a statement is supported; `null` for an opinion, which has no place in the tables, and where no answer could
 * be read.
 * @param evidence passages to check it against; without any the judge has only what it knows
 * @throws JudgeError
 */
export async function judgeSupport(
  endpoint: Endpoint,
  topic: string,
  claim: string,
  evidence: readonly string[] = [],
): Promise<boolean | null> {
  return (await endpoint.json(supportPrompt(topic, claim, evidence), supportSchema))?.supported ?? null;
}
