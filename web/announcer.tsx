import { answerText, isOver } from 'flinch-client';
import { type ReactNode, useEffect, useState } from 'react';
import { methodsOf, shownMethod, strongest, unscoredTokens } from './answer/queries.js';
import type { Exchange } from './chats/session.js';
import { countTokens, finishWords, formatScore, METHOD_WORDS } from './words.js';

/** Tells screen readers that writing began, and once at the end the whole answer and its weakest spot. */
export function Announcer({ exchange }: { readonly exchange: Exchange | undefined }): ReactNode {
  const [words, setWords] = useState('');
  const phase = exchange?.answer.phase;
  // A chat that is opened is not read aloud.
  const [heard, setHeard] = useState<string | null>(null);
  useEffect(() => {
    if (!exchange) return;
    if (!isOver(exchange.answer)) {
      setHeard(exchange.id);
      setWords('Answering');
    } else if (heard === exchange.id) setWords(resultWords(exchange));
  }, [exchange?.id, phase]);
  return (
    <p id="announcer" className="visually-hidden" role="status">
      {words}
    </p>
  );
}

function resultWords({ answer }: Exchange): string {
  if (answer.phase === 'failed') return ''; // the failure is an alert
  const method = shownMethod(answer, null);
  const top = strongest(answer, method);
  const unscored = methodsOf(answer).length > 0 ? unscoredTokens(answer, method) : 0;
  const parts = [
    answerText(answer),
    `Answer ${answer.finishReason ? finishWords(answer.finishReason) : ''}, ${countTokens(answer.tokens.length)}`,
  ];
  if (top) {
    const text = (top.token.partText ?? top.token.text).trim();
    parts.push(`highest ${METHOD_WORDS[method].noun} ${formatScore(top.score)} at “${text}”`);
  }
  const flagged = answer.flags.length;
  if (flagged > 0) parts.push(`${flagged} ${flagged === 1 ? 'step' : 'steps'} flagged`);
  const replaced = answer.rollbacks.filter(({ outcome }) => outcome === 'replaced').length;
  if (replaced > 0) parts.push(`${replaced} replaced`);
  if (unscored > 0) parts.push(`${countTokens(unscored)} without a score`);
  return parts.join('. ');
}
