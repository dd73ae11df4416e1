import type { Answer } from 'flinch-client';
import type { Method } from 'flinch-client/protocol';
import type { ReactNode } from 'react';
import type { Exchange } from '../chats/session.js';
import { formatScore } from '../words.js';
import { detailsOf } from './status-words.js';

/** The numbers of an answer, and what restricts the trust in its scores. */
export const Details = ({
  exchange,
  method,
}: {
  readonly exchange: Exchange;
  readonly method: Method;
}): ReactNode => (
  <details className="details">
    <summary>Details</summary>
    <ul>
      {detailsOf(exchange, method).map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  </details>
);

/** Scores of another model than the one that writes are worth nothing. */
export function Mismatch({ answer: { mismatch } }: { readonly answer: Answer }): ReactNode {
  if (!mismatch) return null;
  const { tokens, difference, tolerance } = mismatch;
  const by = `${formatScore(difference)} nats over ${tokens} tokens, tolerance ${formatScore(tolerance)}`;
  return (
    <p className="failure mismatch" role="alert">
      {`The scorer disagrees with the model that writes (${by}). They are probably different models, and these scores are not reliable.`}
    </p>
  );
}
