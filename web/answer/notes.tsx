import type { Answer } from 'flinch-client';
import type { ReactNode } from 'react';
import { formatScore, sentence } from '../words.js';

/** Warnings that restrict the trust in the scores of an answer. */
export function Notes({ answer: { guard, mismatch } }: { readonly answer: Answer }): ReactNode {
  const notes = guard?.warnings ?? [];
  const [only] = notes;
  return (
    <>
      {mismatch && (
        <p className="failure mismatch" role="alert">
          {mismatchWords(mismatch)}
        </p>
      )}
      {notes.length === 1 && only && <p className="notes">{sentence(only)}</p>}
      {notes.length > 1 && (
        <details className="notes">
          <summary>{notes.length} notes about these scores</summary>
          <ul>
            {notes.map((note) => (
              <li key={note}>{sentence(note)}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function mismatchWords({ tokens, difference, tolerance }: NonNullable<Answer['mismatch']>): string {
  const by = `${formatScore(difference)} nats over ${tokens} tokens, tolerance ${formatScore(tolerance)}`;
  return `The scorer disagrees with the model that writes (${by}). They are probably different models, and these scores are not reliable.`;
}
