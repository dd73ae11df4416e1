import { Observable } from 'rxjs';
import type { DoneEvent, UpstreamEvent } from '../../../src/stream/events.js';
import type { FlowGate } from '../../../src/stream/flow-gate.js';
import type { UpstreamResponse } from '../upstream.js';

/** The chunks of an answer that is not scored, as they came, and its end. */
export function chunksOf(answer: UpstreamResponse, gate: FlowGate): Observable<UpstreamEvent | DoneEvent> {
  return new Observable((subscriber) => {
    const read = async (): Promise<void> => {
      for (let pieces = await answer.read(); pieces; pieces = await answer.read()) {
        for (const { beside } of pieces) {
          if (!gate.open) await gate.opened();
          if (subscriber.closed) return;
          if (beside) subscriber.next({ type: 'upstream.delta', at: 0, ...beside });
        }
      }
      const { finishReason, usage } = answer.end();
      const counted = usage ?? { promptTokens: null, completionTokens: null };
      subscriber.next({ type: 'generation.done', finishReason, usage: counted });
      subscriber.complete();
    };
    read().catch((error: unknown) => subscriber.error(error));
    return () => answer.cancel();
  });
}
