import { answerText, isWritten } from 'flinch-client';
import { type ReactNode, useEffect, useState } from 'react';
import { inOneLine, statusOf } from './answer/status-words.js';
import type { Exchange } from './chats/session.js';

/** Tells screen readers that writing began, and once at the end the whole answer and its status. */
export function Announcer({ exchange }: { readonly exchange: Exchange | undefined }): ReactNode {
  const [words, setWords] = useState('');
  const phase = exchange?.answer.phase;
  // A chat that is opened is not read aloud.
  const [heard, setHeard] = useState<string | null>(null);
  useEffect(() => {
    if (!exchange) return;
    if (!isWritten(exchange.answer)) {
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

function resultWords(exchange: Exchange): string {
  const { answer } = exchange;
  if (answer.phase === 'failed') return ''; // the failure is an alert
  return `${answerText(answer)}. ${inOneLine(statusOf(exchange, true))}`;
}
