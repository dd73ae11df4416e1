import { type Answer, answerText, type Rollback, type Token, type TokenStep } from 'flinch-client';
import { visibleText } from '../words.js';
import { strongest } from './queries.js';

/** Characters of the step before the doubtful token, which say where it is. */
const CONTEXT = 24;
/** A token as probable as this was not in doubt by itself. */
const SURE = 0.9;

/** The token of a step with the highest score by the method that judges it. */
export const doubtfulToken = ({ tokens }: Answer, { from, to, method }: TokenStep): Token | null =>
  strongest({ tokens: tokens.slice(from, to) }, method)?.token ?? null;

/** Why a step is flagged, in words: its doubtful token, and the one that nearly took its place. `null` if that is not known. */
export function whyWords(answer: Answer, step: TokenStep): string | null {
  const token = doubtfulToken(answer, step);
  if (!token || token.logprob === null) return null;
  const probability = Math.exp(token.logprob);
  if (probability >= SURE) return 'no single token stands out; several were a little unusual.';
  const rival = rivalOf(token);
  const own = `“${nameOf(token.partText ?? token.text)}” had ${percent(probability)}`;
  const place = placeOf(answer, step, token);
  return `${place}${own}${rival ? `, “${nameOf(rival.text)}” had ${percent(rival.probability)}` : ''}.`;
}

/** The most probable other token, or else the one that a perturbation would have put there. */
function rivalOf({
  id,
  text,
  partText,
  topLogprobs,
  rival,
}: Token): { text: string; probability: number } | null {
  const other = topLogprobs.find((each) =>
    id !== null && each.id !== null ? each.id !== id : each.text !== (partText ?? text),
  );
  if (other) return { text: other.text, probability: Math.exp(other.logprob) };
  return rival && { text: rival.text, probability: rival.before };
}

function placeOf({ tokens }: Answer, { from }: TokenStep, { index }: Token): string {
  const before = answerText({ tokens: tokens.slice(from, index) }).trim();
  if (before === '') return '';
  const words = before.length <= CONTEXT ? before : `…${before.slice(-CONTEXT).replace(/^\S*\s/, '')}`;
  return `after “${words}”, `;
}

const nameOf = (text: string): string => text.trim() || visibleText(text);

function percent(probability: number): string {
  const rounded = Math.round(100 * probability);
  return rounded === 0 ? 'less than 1 %' : `${rounded} %`;
}

/** What came of sampling a step again, as far as the events tell: which candidates read alike. */
export function rollbackWords({ outcome, chosen, candidates, drawn }: Rollback): string {
  if (outcome === null) return `Sampling ${drawn} others…`;
  const same = candidates.filter(
    ({ text }, index) => index !== chosen && text.trim() === candidates[chosen ?? 0]?.text.trim(),
  );
  const which = outcome === 'kept' ? 'of them' : 'more of them';
  const alike =
    same.length === 0 ? '' : `: ${same.length} ${which} ${same.length === 1 ? 'reads' : 'read'} the same`;
  return `Sampled ${candidates.length - 1} others and ${outcome === 'kept' ? 'kept this one' : 'took one of them'}${alike}.`;
}
