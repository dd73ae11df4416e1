import { type Answer, isWritten, verdictWords } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import { type Exchange, tokensPerSecond } from '../chats/session.js';
import { countTokens, finishWords, METHOD_WORDS } from '../words.js';
import { lagTokens, methodsOf, skippedTokens, unscoredTokens } from './queries.js';

/** How far an answer is, in a line. @param connected whether there is a connection over which it could go on */
export function statusWords(
  { model, events, leftOut, answer }: Exchange,
  method: Method,
  connected: boolean,
): string {
  const name = answer.model ?? model;
  if (answer.phase === 'waiting') {
    return `${name} · ${connected ? 'waiting for the first token' : 'waiting for the connection'}`;
  }
  const scored = methodsOf(answer).length > 0;
  const unscored = scored ? unscoredTokens(answer, method) : 0;
  const skipped = skippedTokens(answer, method);
  const without = unscored + lagTokens(answer, method);
  const { escalation, vote } = answer;
  const by = [
    escalation ? `${name}, flagged` : name,
    escalation && escalationWords(escalation),
    vote && voteWords(vote),
  ];
  const parts = [...by.filter((words) => words !== null), countTokens(answer.tokens.length)];
  if (leftOut > 0)
    parts.push(`context full, the oldest ${leftOut === 1 ? 'question' : `${leftOut} questions`} left out`);
  const rate = isWritten(answer) ? tokensPerSecond(events) : null;
  if (rate !== null) parts.push(`${rate < 10 ? rate.toFixed(1) : Math.round(rate)} tokens/s`);
  if (skipped > 0) parts.push(`${countTokens(skipped)} skipped`);
  const drawing = answer.rollbacks.at(-1);
  if (answer.phase === 'streaming' && drawing?.outcome === null) {
    parts.push(`sampling ${drawing.drawn} other continuations of step ${drawing.step + 1}`);
  } else if (!scored) parts.push('not scored');
  else if (answer.phase === 'streaming')
    parts.push(connected ? `writing, scores ${countTokens(unscored)} behind` : 'waiting for the connection');
  else if (without > 0) parts.push(`${countTokens(without)} without ${METHOD_WORDS[method].noun}`);
  else if (answer.tokens.length > 0)
    parts.push(skipped > 0 ? 'every other token scored' : 'every token scored');
  const flags = answer.flags.length;
  if (flags > 0) parts.push(flags === 1 ? '1 step flagged' : `${flags} steps flagged`);
  if (answer.verdict) parts.push(verdictWords(answer.verdict));
  if (answer.phase === 'failed') parts.push('failed');
  if (answer.finishReason) parts.push(finishWords(answer.finishReason));
  return parts.join(' · ');
}

const voteWords = ({ answers, agreed, replaced }: NonNullable<Answer['vote']>): string =>
  `${replaced ? 'another answer' : 'this answer'}, with which ${agreed} of ${answers} agree`;

const escalationWords = ({ to, failed }: NonNullable<Answer['escalation']>): string =>
  failed === null ? `answered by ${to}` : `${to} did not answer (${failed})`;
