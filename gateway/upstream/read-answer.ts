import { Observable } from 'rxjs';
import type { FlowGate } from '../../src/stream/flow-gate.js';
import type { Alignment } from './alignment.js';
import type { ScoredToken } from './scored-token.js';
import type { UpstreamResponse } from './upstream.js';

/**
 * The tokens of an answer. While the gate is held nothing is taken from the server. Subscribed to once; unsubscribing
 * leaves the answer as it is.
 *
 * Errors with an UpstreamError, a VocabularyMismatch or a HiddenReasoning.
 */
export function readAnswer(
  { pieces }: Pick<UpstreamResponse, 'pieces'>,
  alignment: Alignment,
  gate: FlowGate,
): Observable<ScoredToken> {
  return new Observable((subscriber) => {
    const read = async (): Promise<void> => {
      const iterator = pieces[Symbol.asyncIterator]();
      while (!subscriber.closed) {
        await gate.opened();
        if (subscriber.closed) return;
        const { done, value } = await iterator.next();
        for (const token of done ? alignment.end() : alignment.push(value)) {
          // One part of an answer may be all of it.
          if (!gate.open) await gate.opened();
          subscriber.next(token);
        }
        if (done) subscriber.complete();
      }
    };
    read().catch((error: unknown) => subscriber.error(error));
  });
}
